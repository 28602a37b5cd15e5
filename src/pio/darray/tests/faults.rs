//! A call of the library fails on one I/O task, or memory runs out on one rank: all ranks learn the same, and
//! nobody waits for ever.

use super::super::super::alloc::fuse;
use super::super::super::error::{EINVALCOORDS, ENOMEM};
use super::super::super::format::tests::fake::{ENOTINDEFINE, FAULT};
use super::calls::setting;
use super::*;
use crate::testing::stride;

/// What breaks.
#[derive(Clone, Copy)]
enum Fault {
    /// The call with that number, on an I/O task.
    Call { task: usize, number: usize },
    /// The piece of memory with that number, on a rank.
    Memory { rank: usize, number: u32 },
}

/// The results of a program on one rank.
struct Ended {
    codes: Vec<i32>,
    /// What reads gave that succeeded.
    values: Vec<Vec<Value>>,
    /// Whether memory never ran out.
    enough: bool,
}

fn program(setting: &Setting, fault: Fault) -> Vec<Ended> {
    let disk = Disk::default();
    run(setting.ranks, |comm| {
        let rank = comm.rank();
        let system = setting.system(comm);
        let decomps = setting.decomps(&system);
        let mut file = fake::file(&system, setting.parallel, |tasks| {
            let mut memory = FakeFile::create(&disk, tasks);
            if let Fault::Call { task, number } = fault {
                memory.failing = (system.io_rank() == Some(task)).then_some(number);
            }
            memory
        });
        file.limit_buffer(setting.limit);
        match fault {
            Fault::Memory { rank: own, number } if own == rank => fuse::light(Some(number)),
            _ => {}
        }
        let mut codes = vec![code(&setting.define(&mut file))];
        let mut values = Vec::new();
        for frame in 0..2 {
            for (at, decomp) in decomps.iter().enumerate() {
                let own = array(&setting.map(at, rank), Kind::Int, at as u64);
                file.set_frame(1, frame);
                codes.push(code(&write(&mut file, 0, decomp, &own, None)));
                codes.push(code(&write(&mut file, 1, decomp, &own, None)));
            }
            let read = read_values(&mut file, 1, &decomps[0]);
            codes.push(code(&read));
            values.extend(read);
        }
        let own = array(&setting.map(0, rank), Kind::Int, 7);
        codes.push(code(&write(&mut file, 0, &decomps[0], &own, None)));
        codes.push(code(&file.redef()));
        codes.push(code(&file.enddef()));
        codes.push(code(&write(&mut file, 0, &decomps[1], &own, None)));
        codes.push(code(&file.sync()));
        codes.push(code(&write(&mut file, 0, &decomps[0], &own, None)));
        codes.push(code(&file.close()));
        let enough = fuse::is_lit();
        fuse::light(None);
        Ended {
            codes,
            values,
            enough,
        }
    })
}

/// All settings with a library of either sort, arrays with and without gaps, written at once and late.
fn settings() -> Vec<Setting> {
    let mut settings = Vec::new();
    for parallel in [false, true] {
        for pattern in [Pattern::Stripes, Pattern::Gaps] {
            for limit in [0, u64::MAX] {
                let setting = setting(parallel, pattern);
                settings.push(Setting { limit, ..setting });
            }
        }
    }
    settings
}

/// Whether anything failed; all ranks must say the same.
fn failed(ended: &[Ended], code: i32, seen: &mut bool) -> bool {
    let codes = &ended[0].codes;
    assert!(ended.iter().all(|other| other.codes == *codes));
    *seen |= codes.contains(&code);
    codes.iter().any(|code| *code != 0)
}

#[test]
fn a_call_that_fails_on_one_task() {
    for setting in settings() {
        let mut seen = false;
        let tasks = if setting.parallel { 2 } else { 1 };
        for task in 0..tasks {
            let mut number = 1;
            let call = |number| program(&setting, Fault::Call { task, number });
            while failed(&call(number), FAULT, &mut seen) {
                number += stride(2);
            }
            assert!(number > 20, "only {number} calls were made");
        }
        assert!(seen);
    }
}

#[test]
fn memory_that_runs_out_on_one_rank() {
    for setting in settings() {
        let right = program(&setting, Fault::Call { task: 9, number: 1 });
        let (mut seen, mut recovered) = (false, false);
        for rank in 0..setting.ranks {
            for number in (rank as u32..).step_by(stride(3)) {
                let ended = program(&setting, Fault::Memory { rank, number });
                let any = failed(&ended, ENOMEM, &mut seen);
                if ended[rank].enough {
                    assert!(!any && number > 20);
                    break;
                }
                if any {
                    // What could not be written cannot be read; a `redef` that lost something ends there.
                    let known = [0, ENOMEM, EINVALCOORDS, ENOTINDEFINE];
                    assert!(ended[0].codes.iter().all(|code| known.contains(code)));
                    continue;
                }
                let values = ended.iter().zip(&right);
                values.for_each(|(own, right)| assert_eq!(own.values, right.values));
                recovered = true;
            }
        }
        assert!(seen);
        // An array for which there was no memory found some when the others were written.
        assert_eq!(recovered, setting.limit > 0);
    }
}
