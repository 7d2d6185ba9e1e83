//! stand-in
#![allow(missing_docs)]
use super::*;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
#[derive(Debug, Clone, Copy)]
pub struct Faults;
#[derive(Debug, Default)]
struct Inner { durable: Vec<u8>, volatile: Vec<u8>, pending: Vec<(u64, Vec<u8>)> }
#[derive(Debug)]
struct State { names: BTreeMap<String, Arc<Mutex<Inner>>>, steps_left: u64, rng: u64 }
#[derive(Debug, Clone)]
pub struct SimulatedDisk { s: Arc<Mutex<State>> }
#[derive(Debug)]
struct F { s: Arc<Mutex<State>>, f: Arc<Mutex<Inner>>, name: String }
fn rnd(x: &mut u64) -> u64 { *x ^= *x << 13; *x ^= *x >> 7; *x ^= *x << 17; *x }
impl SimulatedDisk {
    pub fn new(seed: u64) -> Self { SimulatedDisk { s: Arc::new(Mutex::new(State { names: BTreeMap::new(), steps_left: u64::MAX, rng: seed.wrapping_mul(2).wrapping_add(1) })) } }
    pub fn crash_after(&self, n: u64) { self.s.lock().steps_left = n; }
    pub fn restart(&self) {
        let mut s = self.s.lock(); s.steps_left = u64::MAX;
        let mut rng = s.rng;
        for f in s.names.values() { let mut f = f.lock();
            for (at, data) in std::mem::take(&mut f.pending) {
                for (k, sector) in data.chunks(SECTOR_SIZE).enumerate() {
                    if rnd(&mut rng) % 2 == 0 { put(&mut f.durable, at + (k * SECTOR_SIZE) as u64, sector); }
                }
            }
            f.volatile = f.durable.clone();
        }
        s.rng = rng;
    }
}
fn put(v: &mut Vec<u8>, at: u64, d: &[u8]) { let e = at as usize + d.len(); if v.len() < e { v.resize(e, 0); } v[at as usize..e].copy_from_slice(d); }
fn step(s: &Mutex<State>, op: &'static str, name: &str) -> Result<(), DiskError> { let mut s = s.lock(); if s.steps_left == 0 { return Err(DiskError::new(op, name, 0, std::io::Error::other("crashed"))); } s.steps_left -= 1; Ok(()) }
#[derive(Debug)] struct L; impl DiskLock for L {}
impl Disk for SimulatedDisk {
    fn open(&self, name: &str, _a: Access, c: Create) -> Result<Box<dyn DiskFile>, DiskError> {
        let mut s = self.s.lock();
        if c == Create::No && !s.names.contains_key(name) { return Err(DiskError::new("open", name, 0, std::io::ErrorKind::NotFound.into())); }
        if c == Create::New && s.names.contains_key(name) { return Err(DiskError::new("open", name, 0, std::io::ErrorKind::AlreadyExists.into())); }
        let f = s.names.entry(name.into()).or_default().clone();
        Ok(Box::new(F { s: self.s.clone(), f, name: name.into() }))
    }
    fn rename(&self, a: &str, b: &str) -> Result<(), DiskError> { step(&self.s, "rename", a)?; let mut s = self.s.lock(); let f = s.names.remove(a).ok_or_else(|| DiskError::new("rename", a, 0, std::io::ErrorKind::NotFound.into()))?; s.names.insert(b.into(), f); Ok(()) }
    fn remove(&self, a: &str) -> Result<(), DiskError> { step(&self.s, "remove", a)?; self.s.lock().names.remove(a); Ok(()) }
    fn list(&self, d: &str) -> Result<Vec<String>, DiskError> { let s = self.s.lock(); Ok(s.names.keys().filter_map(|n| { let (dir, base) = n.rsplit_once('/').unwrap_or(("", n)); (dir == d).then(|| base.to_string()) }).collect()) }
    fn create_directory(&self, _: &str) -> Result<(), DiskError> { Ok(()) }
    fn sync_directory(&self, d: &str) -> Result<(), DiskError> { step(&self.s, "syncdir", d) }
    fn lock(&self, _: &str) -> Result<Option<Box<dyn DiskLock>>, DiskError> { Ok(Some(Box::new(L))) }
    fn display_name(&self, n: &str) -> String { n.into() }
}
impl DiskFile for F {
    fn read_at(&self, o: u64, into: &mut [u8]) -> Result<usize, DiskError> { let f = self.f.lock(); let o = (o as usize).min(f.volatile.len()); let n = into.len().min(f.volatile.len() - o); into[..n].copy_from_slice(&f.volatile[o..o + n]); Ok(n) }
    fn write_at(&self, o: u64, d: &[u8]) -> Result<(), DiskError> { let r = step(&self.s, "write", &self.name); let mut f = self.f.lock(); f.pending.push((o, d.into())); put(&mut f.volatile, o, d); r }
    fn write_durable_at(&self, o: u64, d: &[u8]) -> Result<(), DiskError> { let r = step(&self.s, "write_durable", &self.name); let mut f = self.f.lock(); put(&mut f.volatile, o, d); if r.is_ok() { put(&mut f.durable, o, d); } else { f.pending.push((o, d.into())); } r }
    fn sync(&self) -> Result<(), DiskError> { step(&self.s, "sync", &self.name)?; let mut f = self.f.lock(); f.pending.clear(); f.durable = f.volatile.clone(); Ok(()) }
    fn len(&self) -> Result<u64, DiskError> { Ok(self.f.lock().volatile.len() as u64) }
    fn preallocate(&self, l: u64) -> Result<(), DiskError> { let n = self.len()?; if l > n { self.write_at(n, &vec![0; (l - n) as usize])?; self.sync()?; } Ok(()) }
    fn display_name(&self) -> String { self.name.clone() }
}
