use super::super::kind::Kind as _;
use super::body::Members;
use super::change::merge;
use super::*;
use crate::hash::path::Path;
use crate::params::radius;

/// Dimensions with grids and with polytopes, rotated by a matrix and by fast transforms.
const DIMS: [u32; 7] = [1, 3, 16, 17, 64, 65, 300];

fn params(metric: Metric, stream: &mut Stream) -> Params {
    let mut params = Params { seed: stream.word(), ..Params::quotient_example(metric) };
    params.bits = 8 + stream.below(249);
    let quotient = params.quotient.as_mut().unwrap();
    quotient.cell_bits = CELL_BITS[stream.below(3) as usize];
    quotient.max_theta = [1.25, 1.0 + 15.0 * stream.uniform()][stream.below(2) as usize];
    params
}

/// The functions of a filter for an instruction set.
fn on_path(params: &Params, dims: u32, path: Path) -> Lsqf {
    let mut lsqf = Lsqf::new(params, dims, &[]).unwrap();
    lsqf.rotation.use_path(path);
    lsqf.query = Query::new(path, &lsqf.layout, &lsqf.likelihood);
    lsqf
}

fn vector(dims: u32, scale: f64, stream: &mut Stream) -> Vec<f32> {
    (0..dims).map(|_| (scale * stream.gaussian()) as f32).collect()
}

fn near(vector: &[f32], stream: &mut Stream) -> Vec<f32> {
    let scale = 0.7 / (vector.len() as f64).sqrt();
    vector.iter().map(|x| x + (scale * stream.gaussian()) as f32).collect()
}

/// The body of a filter of these members.
fn body_of(layout: &Layout, members: &mut [Fingerprint]) -> Vec<u64> {
    members.sort_unstable();
    let parts = Parts::new(layout, members.len() as u64);
    let mut body = vec![0; parts.words() as usize];
    body::write(layout, &parts, &mut body, members.iter().copied());
    body
}

/// The number of members that match the last vector and the smallest score among them, one member at a time.
fn expected(lsqf: &mut Lsqf, radius: f64, members: &[Fingerprint]) -> (u32, Option<u32>) {
    let layout = lsqf.layout;
    let limit = lsqf.prepare(radius, |_| ());
    let scores = members.iter().filter(|member| lsqf.cells.contains(member.prefix(layout.cell_bits)));
    let scores = scores.map(|member| {
        let (code, width) = (member.code(&layout), layout.residue_bits as usize);
        let own = lsqf.residues.iter().zip(&lsqf.positions).enumerate();
        let costs = own.map(|(at, (&own, &position))| {
            let bit = |i: usize| (code[(at * width + i) / 64] >> ((at * width + i) % 64) & 1) as usize;
            let residue: usize = (0..width).map(|i| bit(i) << i).sum();
            u32::from(lsqf.likelihood.costs(position.into())[residue.wrapping_sub(own.into()) % layout.residues()])
        });
        costs.sum::<u32>()
    });
    let scores: Vec<u32> = scores.filter(|score| *score <= limit).collect();
    (scores.len() as u32, scores.iter().min().copied())
}

#[test]
fn every_path_finds_the_members_whose_codes_are_likely() {
    let mut stream = Stream::new(1, 0);
    let (mut some, mut several) = (0, 0);
    for (metric, dims) in [Metric::L2, Metric::Cosine].into_iter().flat_map(|metric| DIMS.map(|dims| (metric, dims))) {
        for count in [1, 31, 32, 33, 64, 65, 700] {
            let params = params(metric, &mut stream);
            let max_theta = params.quotient.unwrap().max_theta;
            let mut paths: Vec<_> = Path::available().into_iter().map(|path| on_path(&params, dims, path)).collect();
            let layout = paths[0].layout;
            let scale = [0.1, 1.0, 10.0][stream.below(3) as usize];
            let rows: Vec<Vec<f32>> = (0..count).map(|_| vector(dims, scale, &mut stream)).collect();
            let mut fingerprints = |row: &Vec<f32>| {
                let all = paths.iter_mut().map(|lsqf| {
                    lsqf.start(&Vector::F32(row)).unwrap();
                    lsqf.fingerprint().unwrap()
                });
                let all: Vec<Fingerprint> = all.collect();
                assert!(all.iter().all(|one| *one == all[0]), "{metric:?} {dims} {params:?}");
                all[0]
            };
            let mut members: Vec<Fingerprint> = rows.iter().map(&mut fingerprints).collect();
            let body = body_of(&layout, &mut members);
            assert!(Members::new(&layout, count, &body[..]).eq(members.iter().copied()));
            let counters = Counters { ones: count, squares: 0 };
            for row in rows.iter().take(12) {
                for (query, theta) in [(row.clone(), 1.0), (near(row, &mut stream), max_theta * stream.uniform())] {
                    let mut answers = paths.iter_mut().map(|lsqf| {
                        lsqf.start(&Vector::F32(&query)).unwrap();
                        let (votes, best) = expected(lsqf, radius(metric, theta), &members);
                        assert_eq!(
                            lsqf.votes(counters, &body[..], theta).unwrap(),
                            votes,
                            "{metric:?} {dims} {params:?}"
                        );
                        assert_eq!(lsqf.contains(counters, &body[..], theta).unwrap(), votes > 0);
                        assert!(theta != 1.0 || best == Some(0), "a member has another code than it was added with");
                        (votes, lsqf.distance(count, &body[..], 0.5))
                    });
                    let first = answers.next().unwrap();
                    assert!(answers.all(|other| other == first), "{metric:?} {dims} {params:?}");
                    (some, several) = (some + u32::from(first.0 > 0), several + u32::from(first.0 > 1));
                }
            }
        }
    }
    assert!(some > 500 && several > 100, "{some} queries found a member, {several} several");
}

/// A large filter is queried in another order: the query's own cell first.
#[test]
fn members_of_large_filters_are_found_in_the_own_cell_and_in_others() {
    let mut stream = Stream::new(9, 0);
    let (mut own, mut others) = (0, 0);
    // Prefixes of two, three and four polytopes.
    for (cell_bits, count, bits) in [(14, 70_000, 64), (18, 140_000, 40), (22, 140_000, 40)] {
        let mut params = Params { bits, ..Params::quotient_example(Metric::L2) };
        params.quotient.as_mut().unwrap().cell_bits = cell_bits;
        let mut paths: Vec<_> = Path::available().into_iter().map(|path| on_path(&params, 100, path)).collect();
        let layout = paths[0].layout;
        let rows: Vec<Vec<f32>> = (0..50).map(|_| vector(100, 1.0, &mut stream)).collect();
        let random = |_| {
            let (cell, code) = (stream.below(1 << cell_bits) as u32, stream.word() >> (64 - layout.code_bits()));
            Fingerprint::new(&layout, cell, &[code, 0, 0, 0])
        };
        let mut members: Vec<Fingerprint> = (rows.len() as u64..count).map(random).collect();
        for row in &rows {
            paths[0].start(&Vector::F32(row)).unwrap();
            members.push(paths[0].fingerprint().unwrap());
        }
        let body = body_of(&layout, &mut members);
        assert!(body.len() > 1 << 16, "the filter is not large");
        let counters = Counters { ones: count, squares: 0 };
        for row in &rows {
            for (query, theta) in [(row.clone(), 1.0), (near(row, &mut stream), 1.0), (near(row, &mut stream), 1.2)] {
                let mut answers = paths.iter_mut().map(|lsqf| {
                    lsqf.start(&Vector::F32(&query)).unwrap();
                    let (votes, best) = expected(lsqf, radius(Metric::L2, theta), &members);
                    assert_eq!(lsqf.votes(counters, &body[..], theta).unwrap(), votes, "{cell_bits}");
                    assert_eq!(lsqf.contains(counters, &body[..], theta).unwrap(), votes > 0, "{cell_bits}");
                    assert!(query != *row || best == Some(0), "a member is not found");
                    (votes, lsqf.distance(count, &body[..], 0.5))
                });
                let first = answers.next().unwrap();
                assert!(answers.all(|other| other == first), "{cell_bits}");
                if first.0 > 0 {
                    let cell = |lsqf: &mut Lsqf, vector: &[f32]| {
                        lsqf.start(&Vector::F32(vector)).unwrap();
                        lsqf.fingerprint().unwrap().prefix(cell_bits)
                    };
                    let is_own = cell(&mut paths[0], &query) == cell(&mut paths[0], row);
                    (own, others) = (own + u32::from(is_own), others + u32::from(!is_own));
                }
            }
        }
    }
    assert!(own > 150 && others > 20, "{own} queries have the cell of their member, {others} do not");
}

#[test]
fn the_estimated_distance_is_that_of_the_smallest_score() {
    let mut stream = Stream::new(2, 0);
    for dims in DIMS {
        let params = params(Metric::L2, &mut stream);
        let mut lsqf = Lsqf::new(&params, dims, &[]).unwrap();
        let layout = lsqf.layout;
        let rows: Vec<Vec<f32>> = (0..300).map(|_| vector(dims, 1.0, &mut stream)).collect();
        let fingerprint = |row: &Vec<f32>| {
            lsqf.start(&Vector::F32(row)).unwrap();
            lsqf.fingerprint().unwrap()
        };
        let mut members: Vec<Fingerprint> = rows.iter().map(fingerprint).collect();
        let body = body_of(&layout, &mut members);
        for row in &rows {
            lsqf.start(&Vector::F32(&near(row, &mut stream))).unwrap();
            let (_, best) = expected(&mut lsqf, layout.max_radius, &members);
            let distance =
                best.and_then(|best| lsqf.likelihood.radius(best, &lsqf.positions)).map(|radius| radius * 0.5);
            assert_eq!(lsqf.distance(300, &body[..], 0.5), distance, "{dims}");
        }
    }
}

#[test]
fn directories_of_crowded_cells_are_exact_and_changed_ones_are_rejected_or_valid() {
    let mut stream = Stream::new(5, 0);
    for (dims, cells) in [(100, 1 << 14), (3, 1 << 14), (3, 300), (100, 2), (3, 1)] {
        let mut params = Params::quotient_example(Metric::L2);
        params.bits = 16;
        params.quotient.as_mut().unwrap().cell_bits = CELL_BITS[0];
        let layout = Layout::of(&params, dims).unwrap();
        let mut member = |_| {
            // Most members are in a few cells, some of them in neighbouring ones.
            let cell = stream.below(cells) * stream.below(2) + stream.below(3);
            Fingerprint::new(&layout, cell as u32 % (1 << CELL_BITS[0]), &[stream.below(1 << 16), 0, 0, 0])
        };
        let mut members: Vec<Fingerprint> = (0..5000).map(&mut member).collect();
        let body = body_of(&layout, &mut members);
        let parts = Parts::new(&layout, 5000);
        assert!(Members::new(&layout, 5000, &body[..]).eq(members.iter().copied()));
        for prefix in 0..1 << parts.prefix_bits {
            let before = |prefix| members.partition_point(|member| member.prefix(parts.prefix_bits) < prefix) as u64;
            assert_eq!(parts.range(&body[..], prefix), (before(prefix), before(prefix + 1)));
        }
        assert_eq!(body::check(&parts, &body), Ok(()));
        for _ in 0..2000 {
            let bit = stream.below(parts.entry(0));
            let mut body = body.clone();
            body[(bit / 64) as usize] ^= (1u64 << (bit % 64)).to_le();
            if body::check(&parts, &body).is_ok() {
                // A member has another prefix.
                let mut same = vec![0; body.len()];
                body::write(&layout, &parts, &mut same, Members::new(&layout, 5000, &body[..]));
                assert!(same == body, "{dims} {cells}: bit {bit}");
            }
            let (first, last) = parts.range(&body[..], stream.below(1 << parts.prefix_bits) as u32);
            assert!(first <= last && last <= 5000);
            assert_eq!(Members::new(&layout, 5000, &body[..]).count(), 5000);
        }
    }
}

#[test]
fn limits_never_decrease_with_the_radius() {
    let mut stream = Stream::new(3, 0);
    for dims in DIMS {
        let params = params(Metric::L2, &mut stream);
        let lsqf = Lsqf::new(&params, dims, &[]).unwrap();
        let largest = lsqf.layout.max_radius;
        let mut radii: Vec<f64> = (0..300).map(|_| largest * stream.uniform()).collect();
        for quarter in -20..20 {
            let radius = (f64::from(quarter) / 4.0).exp2();
            radii.extend([radius.next_down(), radius, radius.next_up(), radius * (1.0 - 1e-9), radius * (1.0 + 1e-9)]);
        }
        radii.retain(|radius| *radius <= largest);
        radii.push(largest);
        radii.sort_by(f64::total_cmp);
        for _ in 0..50 {
            let positions: Vec<u8> =
                (0..lsqf.layout.coordinates).map(|_| stream.below(POSITIONS as u64) as u8).collect();
            let limits = radii.iter().map(|&radius| likelihood::limit(&lsqf.likelihood.limits(radius), &positions));
            assert!(limits.is_sorted(), "{dims} {params:?}");
        }
    }
}

#[test]
fn merged_lists_are_in_order_and_have_all_members() {
    let mut stream = Stream::new(4, 0);
    let layout = Layout::of(&Params::quotient_example(Metric::L2), 100).unwrap();
    let mut list = |count: u64| {
        let mut list: Vec<Fingerprint> = (0..count)
            .map(|_| Fingerprint::new(&layout, stream.below(20) as u32, &[stream.below(3), 0, 0, 0]))
            .collect();
        list.sort_unstable();
        list
    };
    for (a, b) in [(0, 0), (0, 5), (5, 0), (50, 70)] {
        let (a, b) = (list(a), list(b));
        let mut both = [a.clone(), b.clone()].concat();
        both.sort_unstable();
        assert!(merge(a.into_iter(), b.into_iter()).eq(both));
    }
}

#[test]
fn the_listed_cells_are_those_that_a_query_visits() {
    let mut stream = Stream::new(4, 0);
    let mut listed = 0;
    for dims in DIMS {
        for _ in 0..20 {
            let mut params = params(Metric::L2, &mut stream);
            params.quotient.as_mut().unwrap().cell_bits = CELL_BITS[0];
            let mut lsqf = Lsqf::new(&params, dims, &[]).unwrap();
            lsqf.start(&Vector::F32(&vector(dims, 10.0, &mut stream))).unwrap();
            let Some(cells) = lsqf.visited(1.0).map(<[u32]>::to_vec) else { continue };
            let contained = (0..1 << CELL_BITS[0]).filter(|&cell| lsqf.cells.contains(cell));
            let mut sorted = cells.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert!(contained.eq(sorted), "{dims} {params:?}");
            listed += cells.len();
        }
    }
    assert!(listed > 500, "{listed}");
}

/// A body that counts how many entries are read.
struct Counted<'a>(&'a [u64], std::cell::Cell<usize>);

impl Body for Counted<'_> {
    fn word(&self, at: usize) -> u64 {
        self.0.word(at)
    }

    fn pair(&self, at: usize) -> [u64; 2] {
        self.1.set(self.1.get() + 1);
        self.0.pair(at)
    }

    fn prefetch(&self, _: usize) {}
}

/// A filter with a directory is read by cells, whatever number of bits the directory has.
#[test]
fn queries_read_a_small_part_of_the_members() {
    let mut stream = Stream::new(8, 0);
    for (dims, count) in [(10, 1000), (10, 8000), (10, 20_000), (300, 3000), (300, 5000)] {
        let params = Params { seed: 3, ..Params::quotient_example(Metric::L2) };
        let mut lsqf = on_path(&params, dims, Path::best());
        let layout = lsqf.layout;
        let rows: Vec<Vec<f32>> = (0..count).map(|_| vector(dims, 20.0, &mut stream)).collect();
        let fingerprint = |row: &Vec<f32>| {
            lsqf.start(&Vector::F32(row)).unwrap();
            lsqf.fingerprint().unwrap()
        };
        let mut members: Vec<Fingerprint> = rows.iter().map(fingerprint).collect();
        let body = body_of(&layout, &mut members);
        let body = Counted(&body, std::cell::Cell::new(0));
        for row in rows.iter().take(100) {
            lsqf.start(&Vector::F32(row)).unwrap();
            assert!(lsqf.matches(1.0, count as u64, &body));
        }
        let read = body.1.get() / 100;
        assert!(read < count / 10 + 70, "{dims} dimensions: {read} of {count}");
    }
}
