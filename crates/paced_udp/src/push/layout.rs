//! Layout of a file: blocks of octets, each of them symbols of one size.

use std::fmt;

/// Octets of a block but for a file's last. A power of two times 1 KiB, so that each block is a whole subtree
/// of BLAKE3 and the file's hash is made from the blocks' without reading it again. Greater blocks need fewer
/// repairs for the worst of many sites, and more work for each: of 1 MiB twenty receivers on two processors
/// got less in all.
pub const BLOCK_SIZE: u32 = 512 * 1024;

/// Octets of a symbol: with our header, UDP and IPv6 it stays under an Ethernet frame, and it fills a block
/// with little left over.
pub const SYMBOL_SIZE: u16 = 1408;

/// The longest file that is cut, in octets.
pub const FILE_SIZE_MAX: u64 = 1 << 40;

/// Blocks of a file at most: what a datagram's header can name.
pub const BLOCKS_MAX: u64 = 1 << 24;

/// Symbols of a block at most, from whomever the layout comes.
pub const BLOCK_SYMBOLS_MAX: usize = 1024;

/// How a file is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    size: u64,
    block_size: u32,
    symbol_size: u16,
}

/// Why a layout is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// The file is longer than [`FILE_SIZE_MAX`], or has more than [`BLOCKS_MAX`] blocks.
    Size(u64),
    /// The block size is not a power of two from 1 KiB on, or has too many symbols.
    BlockSize(u32),
    /// The symbol size is not a multiple of 8 from 64 to 8,192.
    SymbolSize(u16),
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(size) => {
                write!(f, "size {size}: a file may have {FILE_SIZE_MAX} octets and {BLOCKS_MAX} blocks")
            }
            Self::BlockSize(size) => write!(
                f,
                "block size {size}: a power of two from 1024 on is wanted, with {BLOCK_SYMBOLS_MAX} symbols at most"
            ),
            Self::SymbolSize(size) => {
                write!(f, "symbol size {size}: a multiple of 8 from 64 to 8192 is wanted")
            }
        }
    }
}

impl std::error::Error for LayoutError {}

impl Layout {
    /// The usual cut of a file of `size` octets.
    #[cfg(test)]
    pub fn usual(size: u64) -> Result<Self, LayoutError> {
        Self::new(size, BLOCK_SIZE, SYMBOL_SIZE)
    }

    /// The cut for a path whose datagrams may have a symbol of `symbol_max` octets: symbols as long as fit,
    /// and not below what a block needs. There datagrams travel in fragments.
    pub fn for_path(size: u64, symbol_max: usize) -> Result<Self, LayoutError> {
        let least = (BLOCK_SIZE as usize).div_ceil(BLOCK_SYMBOLS_MAX).next_multiple_of(8);
        let fitting = symbol_max.min(usize::from(SYMBOL_SIZE)) / 8 * 8;
        Self::new(size, BLOCK_SIZE, fitting.max(least) as u16)
    }

    /// A cut with sizes of its own.
    pub fn new(size: u64, block_size: u32, symbol_size: u16) -> Result<Self, LayoutError> {
        if size > FILE_SIZE_MAX {
            return Err(LayoutError::Size(size));
        }
        if !(64..=8192).contains(&symbol_size) || !symbol_size.is_multiple_of(8) {
            return Err(LayoutError::SymbolSize(symbol_size));
        }
        let symbols = (block_size as usize).div_ceil(symbol_size as usize);
        if block_size < 1024 || !block_size.is_power_of_two() || symbols > BLOCK_SYMBOLS_MAX {
            return Err(LayoutError::BlockSize(block_size));
        }
        if size.div_ceil(u64::from(block_size)) > BLOCKS_MAX {
            return Err(LayoutError::Size(size));
        }
        Ok(Self { size, block_size, symbol_size })
    }

    /// Octets of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Octets of each block but the last.
    pub fn block_size(&self) -> u32 {
        self.block_size
    }

    /// Octets of a symbol.
    pub fn symbol_size(&self) -> usize {
        self.symbol_size as usize
    }

    /// Number of blocks. An empty file has none.
    pub fn blocks(&self) -> u32 {
        self.size.div_ceil(u64::from(self.block_size)) as u32
    }

    /// Where a block begins in the file.
    pub fn offset(&self, block: u32) -> u64 {
        u64::from(block) * u64::from(self.block_size)
    }

    /// Octets of a block.
    pub fn block_len(&self, block: u32) -> usize {
        let left = self.size.saturating_sub(self.offset(block));
        left.min(u64::from(self.block_size)) as usize
    }

    /// Source symbols of a block; the last is filled up with zeros.
    pub fn symbols(&self, block: u32) -> usize {
        self.block_len(block).div_ceil(self.symbol_size())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_symbols_cover_the_file() {
        for size in
            [0, 1, 1407, 1408, 1409, 262_143, 262_144, 262_145, 1_048_575, 1_048_576, 1_048_577, 100_000_000]
        {
            let layout = Layout::usual(size).unwrap();
            assert_eq!(Layout::for_path(size, usize::from(SYMBOL_SIZE)), Ok(layout));
            let whole: usize = (0..layout.blocks()).map(|block| layout.block_len(block)).sum();
            assert_eq!(whole as u64, size);
            for block in 0..layout.blocks() {
                let room = layout.symbols(block) * layout.symbol_size();
                assert!(room >= layout.block_len(block) && room < layout.block_len(block) + 1408);
            }
        }
    }

    #[test]
    fn a_layout_outside_the_limits_is_refused() {
        assert_eq!(Layout::new(FILE_SIZE_MAX + 1, 262_144, 1408), Err(LayoutError::Size(FILE_SIZE_MAX + 1)));
        let most = BLOCKS_MAX * 1024;
        assert!(Layout::new(most, 1024, 64).is_ok());
        assert_eq!(Layout::new(most + 1, 1024, 64), Err(LayoutError::Size(most + 1)));
        assert_eq!(Layout::new(1, 262_145, 1408), Err(LayoutError::BlockSize(262_145)));
        assert_eq!(Layout::new(1, 512, 64), Err(LayoutError::BlockSize(512)));
        assert_eq!(Layout::new(1, 1 << 20, 64), Err(LayoutError::BlockSize(1 << 20)));
        for size in [0, 8, 63, 100, 8200, u16::MAX] {
            assert_eq!(Layout::new(1, 1024, size), Err(LayoutError::SymbolSize(size)));
        }
    }
}
