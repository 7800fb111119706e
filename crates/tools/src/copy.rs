//! COPY's binary format: a signature, rows of fields with their lengths, and a trailer. All numbers are big-endian.

use lsbf::filter::{Owned, format};
use std::io::{BufWriter, Result, Stdout, Write};

pub struct Copy(BufWriter<Stdout>);

impl Copy {
    pub fn to_stdout() -> Result<Copy> {
        let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout());
        out.write_all(b"PGCOPY\n\xff\r\n\0")?;
        out.write_all(&[0; 8])?;
        Ok(Copy(out))
    }

    /// Starts a row.
    pub fn row(&mut self, fields: i16) -> Result<()> {
        self.0.write_all(&fields.to_be_bytes())
    }

    pub fn field(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write_all(&(bytes.len() as u32).to_be_bytes())?;
        self.0.write_all(bytes)
    }

    /// A row of an integer and pgvector's `vector`.
    pub fn vector(&mut self, id: usize, x: &[f32]) -> Result<()> {
        self.row(2)?;
        self.field(&(id as i32).to_be_bytes())?;
        self.vector_field(x)
    }

    /// A row of an integer, an integer or NULL, and pgvector's `vector`.
    pub fn planted(&mut self, id: usize, source: Option<usize>, x: &[f32]) -> Result<()> {
        self.row(3)?;
        self.field(&(id as i32).to_be_bytes())?;
        match source {
            Some(source) => self.field(&(source as i32).to_be_bytes())?,
            None => self.0.write_all(&(-1i32).to_be_bytes())?,
        }
        self.vector_field(x)
    }

    /// A row of an integer and a bit string of whole bytes.
    pub fn bits(&mut self, id: usize, bits: &[u8]) -> Result<()> {
        self.row(2)?;
        self.field(&(id as i32).to_be_bytes())?;
        self.bits_field(bits)
    }

    pub fn vector_field(&mut self, x: &[f32]) -> Result<()> {
        let head = [(x.len() as u16).to_be_bytes(), [0; 2]].concat();
        let bytes: Vec<u8> = head.into_iter().chain(x.iter().flat_map(|x| x.to_be_bytes())).collect();
        self.field(&bytes)
    }

    pub fn bits_field(&mut self, bits: &[u8]) -> Result<()> {
        self.field(&[&(bits.len() as u32 * 8).to_be_bytes(), bits].concat())
    }

    /// A row of a kind, a number of members and a filter.
    pub fn filter(&mut self, kind: &str, members: usize, filter: &Owned) -> Result<()> {
        self.row(3)?;
        self.field(kind.as_bytes())?;
        self.field(&(members as i32).to_be_bytes())?;
        self.field(format::payload(&filter.image))
    }

    pub fn end(mut self) -> Result<()> {
        self.0.write_all(&(-1i16).to_be_bytes())?;
        self.0.flush()
    }
}
