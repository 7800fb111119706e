//! Table I and Figures 2 to 6 of the ILBF letter, and centred windows.

use crate::report::{Report, cell, rate};
use lsbf::balance::balance;
use lsbf_tools::experiments::ilbf::{
    Draw, MEMBERS, Query, Row, TABLE, Votes, collisions, params, range_queries, rows, table_queries, theorem_1,
    theorem_2, theorem_3,
};
use lsbf_tools::experiments::{Count, Mean, parallel};
use lsbf_tools::plot::{Axis, Mark, Plot, Series};

const DRAWS: usize = 400;
const QUERIES: usize = 1_000;
/// Distance from the origin at which the projections of the data no longer share Blooms more often than by chance.
const AWAY: f64 = 1e6;

pub fn write(report: &mut Report) {
    report.add("## Integer-granularity locality-sensitive Bloom filter");
    report.add(
        "As in the letter: k = 16 projections, m = 8192 Blooms of u = 32 slots, w = 1, n = 500 members of 20 \
         dimensions, uniform in [1, 1000]. The letter does not state k'; its numbers agree with k' = 4 distinct slots \
         per object. Near queries of Table I differ by 0.100 + 0.005 (theta - 1) in every dimension, up or down, far \
         ones by a hundred times as much. Rates vary considerably between draws of the projections. Therefore measured \
         rates are means of 400 draws with 1000 queries each, with the standard deviation between draws in \
         parentheses.",
    );
    table_one(report);
    quoted(report);
    figure_2(report);
    figures_3_and_6(report);
    figures_4_and_5(report);
    centred(report);
}

fn over_draws(votes: &[Votes], pick: impl Fn(&Votes) -> Count) -> Mean {
    Mean::of(&votes.iter().map(|v| pick(v).rate()).collect::<Vec<_>>())
}

fn spread(mean: Mean) -> String {
    format!("{:.4} ({:.4})", mean.mean, mean.sd)
}

fn table_one(report: &mut Report) {
    let thetas: Vec<f64> = TABLE.iter().map(|row| f64::from(row.0)).collect();
    let near_origin = rows(true, 0.0, &thetas, table_queries, DRAWS, QUERIES, &report.progress("ILBF Table I"));
    let away = rows(true, AWAY, &thetas, table_queries, DRAWS, QUERIES, &report.progress("ILBF Table I, away"));
    let predicted = predictions(report);
    report.add("### Table I, aligned blocks");
    report.add(
        "The hash functions of the letter have no offset. The projections of data near the origin then share the same \
         Blooms more often, which raises the mean and the standard deviation of the false positive rate. *Away* is the \
         same experiment with all data moved far from the origin; the numbers of the letter agree with it. *From the \
         fill* is the rate that this library predicts for the filter itself. The last column is the deviation of the \
         letter's number, taken as one draw, in standard deviations between draws.",
    );
    let mut positives = Vec::new();
    let mut negatives = Vec::new();
    for (i, (theta, v, paper)) in TABLE.into_iter().enumerate() {
        let far = over_draws(&near_origin[i].far, |votes| votes.at_least(v));
        let far_away = over_draws(&away[i].far, |votes| votes.at_least(v));
        let near = over_draws(&near_origin[i].near, |votes| votes.below(v));
        let near_away = over_draws(&away[i].near, |votes| votes.below(v));
        let (predicted_far, predicted_near) = predicted[i];
        let distance = table_queries(f64::from(theta)).0.distance();
        positives.push(vec![
            cell(theta),
            cell(v),
            format!("{:.4}", paper[4]),
            format!("{:.4}", theorem_3(f64::from(theta), v, MEMBERS)),
            format!("{predicted_far:.4}"),
            spread(far),
            spread(far_away),
            format!("{:+.1}", (paper[4] - far_away.mean) / far_away.sd),
        ]);
        negatives.push(vec![
            cell(theta),
            cell(v),
            format!("{:.4}", paper[5]),
            format!("{:.4}", theorem_2(true, distance, f64::from(theta), v)),
            format!("{predicted_near:.4}"),
            spread(near),
            spread(near_away),
            format!("{:+.1}", (paper[5] - near_away.mean) / near_away.sd),
        ]);
    }
    let head = |rate: &'static str, theorem: &'static str| {
        [rate, "v", "paper", theorem, "from the fill", "measured", "measured, away", "paper in sd"]
    };
    report.table(&head("FPR, theta", "Theorem 3"), &positives);
    report.table(&head("FNR, theta", "Theorem 2"), &negatives);
}

/// Mean FPR and FNR predicted from the fill, for each row of Table I.
fn predictions(report: &Report) -> Vec<(f64, f64)> {
    const DRAWS: usize = 40;
    let parts = parallel(DRAWS, &report.progress("ILBF Table I, predicted"), |i| {
        let draw = Draw::new(params(true, 0, 100 + i as u64), MEMBERS, 0.0);
        let row = |&(theta, v, _): &(u32, u32, [f64; 6])| {
            let (near, far) = table_queries(f64::from(theta));
            let accepted = |query: Query| draw.predicted(query.distance(), f64::from(theta), v);
            (accepted(far), 1.0 - accepted(near))
        };
        TABLE.iter().map(row).collect::<Vec<_>>()
    });
    let sum = |i: usize| parts.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part[i].0, sum.1 + part[i].1));
    (0..TABLE.len()).map(sum).map(|(far, near)| (far / DRAWS as f64, near / DRAWS as f64)).collect()
}

fn quoted(report: &mut Report) {
    report.add("### MLBF\\* (quoted) and centred windows");
    report.add(
        "The columns of MLBF\\* are *quoted from the letter*; this library does not implement MLBF\\*. They are \
         compared with centred windows of this library, for the queries of Table I, at the same size, with the votes \
         that the filter chooses itself.",
    );
    let parts = parallel(DRAWS, &report.progress("ILBF centred, Table I"), |i| {
        let mut draw = Draw::new(params(false, 0, 100 + i as u64), MEMBERS, 0.0);
        let row = |&(theta, ..): &(u32, u32, [f64; 6])| {
            let (near, far) = table_queries(f64::from(theta));
            let mut accepted = |query: Query| draw.accepted(query, f64::from(theta), QUERIES).rate();
            (accepted(far), 1.0 - accepted(near))
        };
        TABLE.iter().map(row).collect::<Vec<_>>()
    });
    let mut rows = Vec::new();
    for (i, (theta, _, paper)) in TABLE.into_iter().enumerate() {
        let mut row = vec![cell(theta)];
        row.extend(paper[..4].iter().map(|value| format!("*{value:.4}*")));
        let positives: Vec<f64> = parts.iter().map(|part| part[i].0).collect();
        let negatives: Vec<f64> = parts.iter().map(|part| part[i].1).collect();
        row.extend([spread(Mean::of(&positives)), spread(Mean::of(&negatives))]);
        rows.push(row);
    }
    let head =
        ["theta", "*MLBF\\* k=2 L=8 FPR*", "*FNR*", "*MLBF\\* k=4 L=4 FPR*", "*FNR*", "centred FPR", "centred FNR"];
    report.table(&head, &rows);
}

fn figure_2(report: &mut Report) {
    const BLOOMS: u32 = 64;
    report.add("### Figure 2: collisions");
    report.add(
        "P(two objects share a Bloom) by their distance, for w = 1 and m = 64, so that the floor of 1/m is visible. \
         Theorem 1 is the exact sum over all multiples of the modulus; Observation 1 is the letter's approximation of \
         it.",
    );
    let distances: Vec<f64> = (0..=24).map(|i| 0.1 * 10f64.powf(f64::from(i) / 8.0)).collect();
    let found =
        parallel(distances.len(), &report.progress("ILBF Figure 2"), |i| collisions(distances[i], BLOOMS, 40, 200));
    let observation = |c: f64| theorem_1(c, 1 << 30).max(1.0 / f64::from(BLOOMS));
    for (&c, count) in distances.iter().zip(&found) {
        report.deviation("ILBF Figure 2, collisions", count.deviation(theorem_1(c, BLOOMS)));
    }
    let curve = |p: &dyn Fn(f64) -> f64| distances.iter().map(|&c| (c, p(c))).collect::<Vec<_>>();
    report.plot(
        "ilbf-figure-2",
        &Plot {
            title: "Figure 2: P(same Bloom), w = 1, m = 64",
            x: Axis::log("distance", 0.1, 100.0),
            y: Axis::log("P(same Bloom)", 0.01, 1.0),
            series: vec![
                Series::new("Theorem 1", 0, Mark::Line, curve(&|c| theorem_1(c, BLOOMS))),
                Series::new("Observation 1", 1, Mark::Dashed, curve(&observation)),
                Series::new(
                    "measured",
                    0,
                    Mark::Dots,
                    distances.iter().zip(&found).map(|(&c, n)| (c, n.rate())).collect(),
                ),
            ],
        },
    );
}

/// P(accepted) as predicted from the fill, averaged over a few draws.
fn from_fill(members: usize, distance: f64, theta: f64, v: u32) -> f64 {
    const DRAWS: u64 = 10;
    let one = |i: u64| Draw::new(params(true, 0, 100 + i), members, 0.0).predicted(distance, theta, v);
    (0..DRAWS).map(one).sum::<f64>() / DRAWS as f64
}

fn figures_3_and_6(report: &mut Report) {
    let near = Query::Moved(0.1, 0.1);
    let thetas = [1.0, 2.0, 3.0, 4.0];
    let found = rows(
        true,
        0.0,
        &thetas,
        |_| (near, Query::Unrelated),
        DRAWS,
        QUERIES,
        &report.progress("ILBF Figures 3 and 6"),
    );
    report.add("### Figures 3 and 6: false negatives and false positives by v");
    report.add(
        "Near queries differ by 0.1 in every dimension; for false positives the queries are drawn like the members. \
         Theorem 2 only counts matches with the object itself, so that it exceeds the measured rate if other objects \
         add votes. Theorem 3 adds up the slots of all objects and is not useful beyond theta = 2.",
    );
    let votes: Vec<u32> = (1..=16).collect();
    let predicted = parallel(thetas.len() * votes.len(), &report.progress("ILBF Figures 3 and 6, predicted"), |i| {
        let (theta, v) = (thetas[i / votes.len()], votes[i % votes.len()]);
        (from_fill(MEMBERS, near.distance(), theta, v), from_fill(MEMBERS, f64::INFINITY, theta, v))
    });
    let predicted_at = |theta: usize, v: u32| predicted[theta * votes.len() + v as usize - 1];
    let (mut negatives, mut positives) = (Vec::new(), Vec::new());
    for (i, (row, &theta)) in found.iter().zip(&thetas).enumerate() {
        let curve = |value: &dyn Fn(u32) -> f64| votes.iter().map(|&v| (f64::from(v), value(v))).collect::<Vec<_>>();
        let near_sum: Votes = row.near.iter().copied().sum();
        let far_sum: Votes = row.far.iter().copied().sum();
        let name = |what: &str| format!("theta {theta}, {what}");
        negatives.extend([
            Series::new(name("from the fill"), i, Mark::Line, curve(&|v| 1.0 - predicted_at(i, v).0)),
            Series::new("Theorem 2", i, Mark::Dashed, curve(&|v| theorem_2(true, near.distance(), theta, v))),
            Series::new("measured", i, Mark::Dots, curve(&|v| near_sum.below(v).rate())),
        ]);
        positives.extend([
            Series::new(name("from the fill"), i, Mark::Line, curve(&|v| predicted_at(i, v).1)),
            Series::new("Theorem 3", i, Mark::Dashed, curve(&|v| theorem_3(theta, v, MEMBERS))),
            Series::new("measured", i, Mark::Dots, curve(&|v| far_sum.at_least(v).rate())),
        ]);
    }
    let x = || Axis::linear("votes v", 0.0, 16.0);
    report.plot(
        "ilbf-figure-3",
        &Plot { title: "Figure 3: false negatives", x: x(), y: Axis::log("FNR", 1e-4, 1.0), series: negatives },
    );
    report.plot(
        "ilbf-figure-6",
        &Plot { title: "Figure 6: false positives", x: x(), y: Axis::log("FPR", 1e-4, 1.0), series: positives },
    );
}

fn figures_4_and_5(report: &mut Report) {
    let near = Query::Moved(0.1, 0.1);
    let members: Vec<usize> = (1..=10).map(|i| 100 * i).collect();
    let settings = [(1.0, 6), (2.0, 9)];
    report.add("### Figures 4 and 5: false negatives and false positives by n");
    report.add("As above, for theta = 1 with v = 6 and theta = 2 with v = 9.");
    let parts = parallel(members.len() * settings.len(), &report.progress("ILBF Figures 4 and 5"), |i| {
        let (n, (theta, v)) = (members[i / settings.len()], settings[i % settings.len()]);
        let (mut near_sum, mut far_sum) = (Votes::default(), Votes::default());
        for seed in 0..100 {
            let mut draw = Draw::new(params(true, 0, 100 + seed), n, 0.0);
            near_sum = [near_sum, draw.votes(near, theta, QUERIES)].into_iter().sum();
            far_sum = [far_sum, draw.votes(Query::Unrelated, theta, QUERIES)].into_iter().sum();
        }
        let predicted = (1.0 - from_fill(n, near.distance(), theta, v), from_fill(n, f64::INFINITY, theta, v));
        (near_sum.below(v).rate(), far_sum.at_least(v).rate(), predicted)
    });
    let (mut negatives, mut positives) = (Vec::new(), Vec::new());
    for (i, &(theta, v)) in settings.iter().enumerate() {
        let at = |n: usize| &parts[(n / 100 - 1) * settings.len() + i];
        let curve = |value: &dyn Fn(usize) -> f64| members.iter().map(|&n| (n as f64, value(n))).collect::<Vec<_>>();
        let name = |what: &str| format!("theta {theta}, v {v}, {what}");
        negatives.extend([
            Series::new(name("from the fill"), i, Mark::Line, curve(&|n| at(n).2.0)),
            Series::new("Theorem 2", i, Mark::Dashed, curve(&|_| theorem_2(true, near.distance(), theta, v))),
            Series::new("measured", i, Mark::Dots, curve(&|n| at(n).0)),
        ]);
        positives.extend([
            Series::new(name("from the fill"), i, Mark::Line, curve(&|n| at(n).2.1)),
            Series::new("Theorem 3", i, Mark::Dashed, curve(&|n| theorem_3(theta, v, n))),
            Series::new("measured", i, Mark::Dots, curve(&|n| at(n).1)),
        ]);
    }
    let x = || Axis::linear("members n", 0.0, 1000.0);
    report.plot(
        "ilbf-figure-4",
        &Plot { title: "Figure 4: false negatives", x: x(), y: Axis::linear("FNR", 0.0, 0.01), series: negatives },
    );
    report.plot(
        "ilbf-figure-5",
        &Plot { title: "Figure 5: false positives", x: x(), y: Axis::log("FPR", 1e-5, 1.0), series: positives },
    );
}

/// The votes with the smallest 0.3 FPR + 0.7 FNR, with both rates.
fn best(row: &Row) -> (u32, f64, f64) {
    let near: Votes = row.near.iter().copied().sum();
    let far: Votes = row.far.iter().copied().sum();
    let rates = (1..=16).map(|v| (v, far.at_least(v).rate(), near.below(v).rate()));
    let cost = |&(_, fpr, fnr): &(u32, f64, f64)| balance(fpr, fnr);
    rates.min_by(|a, b| cost(a).total_cmp(&cost(b))).expect("the range is not empty")
}

fn centred(report: &mut Report) {
    let thetas: [f64; 14] = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
    let whole: Vec<f64> = thetas.into_iter().filter(|theta| theta.fract() == 0.0).collect();
    let queries = |_| range_queries();
    let windows = rows(false, 0.0, &thetas, queries, DRAWS, QUERIES, &report.progress("ILBF centred"));
    let blocks = rows(true, 0.0, &whole, queries, DRAWS, QUERIES, &report.progress("ILBF aligned"));
    let parts = parallel(DRAWS, &report.progress("ILBF centred, own votes"), |i| {
        let mut draw = Draw::new(params(false, 0, 100 + i as u64), MEMBERS, 0.0);
        let (near, far) = range_queries();
        let rates = |&theta: &f64| (draw.accepted(far, theta, QUERIES), draw.accepted(near, theta, QUERIES));
        thetas.iter().map(rates).collect::<Vec<_>>()
    });
    let own: Vec<(f64, f64)> = (0..thetas.len())
        .map(|i| {
            let far: Count = parts.iter().map(|part| part[i].0).sum();
            let near: Count = parts.iter().map(|part| part[i].1).sum();
            (far.rate(), 1.0 - near.rate())
        })
        .collect();
    report.add("### Centred windows and aligned blocks");
    report.add(
        "The same filter, queried in two ways, with differences of 0.100 to 0.145, for far queries a hundred times as \
         much. *Best v* is the v with the smallest measured 0.3 FPR + 0.7 FNR. *Own votes* are those that the filter \
         chooses itself, from the theory for distances of theta x near and theta x far (near = 0.55, far = 4.4). The \
         queries are at distance 0.55 for every theta, so that these votes are optimal for them only at theta = 1.",
    );
    let mut lines = Vec::new();
    for ((i, &theta), row) in thetas.iter().enumerate().zip(&windows) {
        let (v, fpr, fnr) = best(row);
        let mut line = vec![cell(theta), cell(v), rate(fpr), rate(fnr), rate(own[i].0), rate(own[i].1)];
        match blocks.iter().find(|row| row.theta == theta).map(best) {
            Some((v, fpr, fnr)) => line.extend([cell(v), rate(fpr), rate(fnr)]),
            None => line.extend(["".into(), "not possible".into(), "".into()]),
        }
        lines.push(line);
    }
    let head = ["theta", "centred: best v", "FPR", "FNR", "own votes: FPR", "FNR", "aligned: best v", "FPR", "FNR"];
    report.table(&head, &lines);
    report.add("Points on the lower border of the plot: no error among 400000 near and 400000 far queries.");
    const BORDER: f64 = 1e-6;
    let cost = |row: &Row| {
        let (_, fpr, fnr) = best(row);
        (row.theta, balance(fpr, fnr).max(BORDER))
    };
    report.plot(
        "ilbf-centred",
        &Plot {
            title: "Centred windows and aligned blocks at their best v",
            x: Axis::log("theta", 0.25, 10.0),
            y: Axis::log("0.3 FPR + 0.7 FNR", BORDER, 0.1),
            series: vec![
                Series::new("aligned", 1, Mark::Marked, blocks.iter().map(cost).collect()),
                Series::new("centred", 0, Mark::Marked, windows.iter().map(cost).collect()),
            ],
        },
    );
}
