//! What the headers of a set say: which apply each belongs to, and what it protected.
//!
//! Each rank reads its header and reports it to all others, and all judge the same reports by the same rules. So
//! all ranks go on with one scheme, one generation and one list of valid headers, or all fail, before a contradiction
//! between headers could make one rank wait for another.

use super::header::{FileRecord, Header, RankInfo};
use super::repair::{Defects, Location};
use super::sharing::unpack;
use super::{Descriptor, Error, Result, Scheme, agree};
use crate::comm::{Comm, Tag, transfer_unsized};
use crate::kvtree::pack;
use crate::protect::generation::{self, Generation, HeaderClaim, NewestApply};
use crate::storage::names::FileName;
use crate::wire::{gather, put, take};

const TAG: Tag = 0x6d62;

/// What the headers of a set say to one of its ranks.
pub(super) struct HeaderSurvey {
    /// This rank's header and its length, if it belongs to the apply that the set is completed to.
    pub(super) header: Option<(Header, u64)>,
    /// Whether this rank has a header of another apply instead.
    pub(super) is_stale: bool,
    /// Whether any header has checksums of redundancy.
    pub(super) has_checksums: bool,
    /// The length of chunks that the headers name, or 0.
    pub(super) chunk: u64,
    pub(super) info: RankInfo,
    /// This rank's files and where they are now.
    pub(super) files: Vec<(FileRecord, FileName)>,
}

impl HeaderSurvey {
    /// # Collective
    /// Called by all ranks of the set; all return the same verdict.
    pub(super) fn take<C: Comm>(
        comm: &C,
        descriptor: &Descriptor,
        location: &Location,
        defects: &mut Defects,
    ) -> Result<HeaderSurvey> {
        let OwnHeader {
            header,
            claim,
            is_foreign,
        } = OwnHeader::read(descriptor, location, defects);
        let own = HeaderReport {
            scheme: descriptor.scheme,
            has_checksums: header
                .as_ref()
                .is_some_and(|(it, _)| !it.checksums.is_empty()),
            claim,
        };
        let reports = gather(comm, &own.to_bytes())?;
        let reports = reports.iter().map(|bytes| HeaderReport::from_bytes(bytes));
        let reports = reports.collect::<Option<Vec<_>>>();
        let reports =
            reports.ok_or_else(|| Error::Mismatch("malformed message from a rank".into()))?;
        let newest = newest_apply(comm, descriptor, &reports)?;
        let is_current = newest.current.contains(&descriptor.rank);
        let is_stale = is_foreign || header.is_some() && !is_current;
        if let Some((stale, _)) = header.as_ref().filter(|_| !is_current) {
            let wrong = staleness(stale.generation(), newest.generation);
            defects.insert(location.redundancy.path().to_owned(), wrong);
        }
        let header = header.filter(|_| is_current);
        let info = fetch_info(comm, descriptor, &newest, header.as_ref().map(|it| &it.0));
        let info = info.map(|info| RankInfo {
            generation: newest.generation,
            ..info
        });
        let (files, info) = agree(comm, info.and_then(|it| Ok((located(&it, location)?, it))))?;
        let current = || newest.current.iter().map(|&rank| &reports[rank]);
        let mut chunks = current().filter_map(|report| Some(report.claim.as_ref()?.common));
        Ok(HeaderSurvey {
            chunk: chunks.next().unwrap_or(0),
            has_checksums: current().any(|report| report.has_checksums),
            header,
            is_stale,
            info,
            files,
        })
    }
}

/// The header of this rank, if it can be used.
struct OwnHeader {
    header: Option<(Header, u64)>,
    claim: Option<HeaderClaim>,
    /// There is a header, but of another set.
    is_foreign: bool,
}

impl OwnHeader {
    fn read(descriptor: &Descriptor, location: &Location, defects: &mut Defects) -> OwnHeader {
        let file = &location.redundancy;
        let mut found = OwnHeader {
            header: None,
            claim: None,
            is_foreign: false,
        };
        let wrong = match Header::read_at(file) {
            Ok(Some((header, length))) if header.belongs_to(descriptor) => match header.claim() {
                Ok(claim) => {
                    found.claim = Some(claim);
                    found.header = Some((header, length));
                    return found;
                }
                Err(error) => error.to_string(),
            },
            Ok(Some(_)) => {
                found.is_foreign = true;
                "it belongs to another set".into()
            }
            Ok(None) => "it does not exist".into(),
            Err(error) => error.to_string(),
        };
        defects.insert(file.path().to_owned(), wrong);
        found
    }
}

/// What a rank tells the others about its header.
struct HeaderReport {
    scheme: Scheme,
    claim: Option<HeaderClaim>,
    has_checksums: bool,
}

impl HeaderReport {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(&mut bytes, &self.scheme.numbers());
        put(
            &mut bytes,
            &[self.has_checksums.into(), self.claim.is_some().into()],
        );
        if let Some(claim) = &self.claim {
            claim.put(&mut bytes);
        }
        bytes
    }

    fn from_bytes(mut bytes: &[u8]) -> Option<HeaderReport> {
        let scheme = Scheme::from_numbers(take(&mut bytes)?)?;
        let [has_checksums, has_claim] = take(&mut bytes)?;
        let claim = match has_claim {
            0 => None,
            _ => Some(HeaderClaim::take(&mut bytes)?),
        };
        bytes.is_empty().then_some(HeaderReport {
            scheme,
            claim,
            has_checksums: has_checksums != 0,
        })
    }
}

/// The newest apply that the set can be completed to. All ranks of the set have the same reports, so the same result.
fn newest_apply<C: Comm>(
    comm: &C,
    descriptor: &Descriptor,
    reports: &[HeaderReport],
) -> Result<NewestApply> {
    let scheme = reports[0].scheme;
    if let Some(other) = reports.iter().position(|report| report.scheme != scheme) {
        let other_scheme = reports[other].scheme;
        return Err(Error::Mismatch(format!(
            "rank {} goes by {scheme:?}, rank {} by {other_scheme:?}",
            comm.user_rank(0),
            comm.user_rank(other)
        )));
    }
    let claims: Vec<_> = reports.iter().map(|report| report.claim.clone()).collect();
    let ranks = descriptor.ranks;
    let tolerates = |lost: &[usize]| scheme.tolerates(ranks, lost);
    let judged = generation::judge(&claims, tolerates, |rank| comm.user_rank(rank));
    judged.map_err(Error::Generations)
}

/// Why a header is not of the current apply.
fn staleness(own: Option<Generation>, current: Option<Generation>) -> String {
    match (own, current) {
        (Some(own), Some(current)) if own != current => {
            format!("it is of generation {own}, the set of {current}")
        }
        _ => "it contradicts the headers of the other ranks, as one of another apply does".into(),
    }
}

/// The recorded files and where they are now.
fn located(info: &RankInfo, location: &Location) -> Result<Vec<(FileRecord, FileName)>> {
    let locate = |file: &FileRecord| Ok((file.clone(), (location.of_original)(&file.path)?));
    info.files.iter().map(locate).collect()
}

/// The info about this rank's files, from its own header or that of the nearest right neighbour with a valid one. The error
/// is this rank's own.
fn fetch_info<C: Comm>(
    comm: &C,
    descriptor: &Descriptor,
    newest: &NewestApply,
    own: Option<&Header>,
) -> Result<RankInfo> {
    let ranks = comm.size();
    let helper = |rank: usize| {
        let right = (1..=descriptor.scheme.copies()).map(|d| (rank + d) % ranks);
        right
            .into_iter()
            .find(|helper| newest.current.contains(helper))
    };
    let helpless = (0..ranks).filter(|rank| !newest.current.contains(rank));
    let asked = helpless.filter(|&rank| helper(rank) == Some(comm.rank()));
    let mut packed = Vec::new();
    for rank in asked {
        // The rank waits for a message, so it gets one even if there is nothing to tell.
        let info = own.and_then(|header| header.infos.get(&rank)?.to_tree().ok());
        let block = pack::packed(info.as_ref().map(|tree| tree.view()));
        packed.push((rank, block.unwrap_or_default()));
    }
    let sends: Vec<_> = packed.iter().map(|(to, block)| (*to, &block[..])).collect();
    let from = match own {
        None => helper(comm.rank()),
        Some(_) => None,
    };
    let from: Vec<_> = from.into_iter().collect();
    let received = transfer_unsized(comm, TAG, &sends, &from)?;
    match (own, &received[..]) {
        (Some(header), _) => Ok(header.own().clone()),
        (None, [block, ..]) => RankInfo::from_tree(unpack(block)?.view()),
        (None, []) => Err(Error::Lost(format!(
            "no rank knows which files rank {} has",
            descriptor.world_rank
        ))),
    }
}
