//! The groups of the subset rearranger.
pub struct Groups {}
impl Groups {
    pub fn new(_size: usize, _io_ranks: &[usize]) -> Self {
        todo!()
    }
}
