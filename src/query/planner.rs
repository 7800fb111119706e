//! The planner support function of approx_member: its selectivity and its cost.

use crate::boundary::call::{Call, pg_function};
use crate::boundary::context::Context;
use crate::boundary::{guard, signature};
use crate::cache::filters;
use lsbf::error::Result;
use lsbf::params::check_theta;
use lsbf::rates::cost::query_cost;
use lsbf::rates::{Facts, unrelated};
use pgrx::pg_sys::{self, Datum, Node, NodeTag, PlannerInfo};
use std::cell::RefCell;

/// Assumed fraction of rows that are near a member: filters are used to find few rows.
const NEAR_ROWS: f64 = 0.01;
/// Selectivity if the filter is not known at planning time.
const DEFAULT_SELECTIVITY: f64 = 0.05;

/// The `n`-th argument of a call.
unsafe fn argument(args: *mut pg_sys::List, n: usize) -> Option<*mut Node> {
    // SAFETY: `args` is a list of expressions, and `n` is checked against its length.
    unsafe {
        let args = args.as_ref().filter(|args| n < args.length as usize)?;
        Some((*args.elements.add(n)).ptr_value.cast())
    }
}

/// The value of an expression; `None` if it is not a constant of this type.
unsafe fn constant(expression: *mut Node, is_type: impl FnOnce(pg_sys::Oid) -> bool) -> Option<Datum> {
    // SAFETY: the expression is of the type its tag names.
    unsafe {
        let constant = expression.cast::<pg_sys::Const>();
        ((*expression).type_ == NodeTag::T_Const && !(*constant).constisnull && is_type((*constant).consttype))
            .then(|| (*constant).constvalue)
    }
}

/// The facts about a filter that can be read without its bits.
fn facts(filter: Datum) -> Option<Facts> {
    let (front, words) = filters::front(filter).ok()?;
    Facts::estimated(&front, words).ok()
}

/// The facts about the filter of a call; `None` if it is not a constant.
unsafe fn constant_filter(args: *mut pg_sys::List) -> Option<Facts> {
    // SAFETY: `args` is a list of expressions.
    facts(unsafe { constant(argument(args, 0)?, signature::is_lsbf)? })
}

/// The same, but also evaluates stable functions, as the planner does to estimate selectivities.
unsafe fn estimated_filter(root: *mut PlannerInfo, args: *mut pg_sys::List) -> Option<Facts> {
    // SAFETY: `args` is a list of expressions in the query that is being planned.
    unsafe {
        let expression = argument(args, 0)?;
        if (*expression).type_ == NodeTag::T_Const {
            return facts(constant(expression, signature::is_lsbf)?);
        }
        if let Some(facts) = recall(root, expression) {
            return facts;
        }
        let context = Context::new(pg_sys::CurrentMemoryContext, c"pg_lsbf filter");
        let facts = context.with(|| {
            let value = pg_sys::estimate_expression_value(root, expression);
            constant(value, signature::is_lsbf).and_then(facts)
        });
        remember(root, expression, facts.clone());
        facts
    }
}

/// An expression that was evaluated, and the facts about the filter it returned. The planner requests an estimate for
/// every partition, and each evaluation calls functions and detoasts their result.
struct Evaluated {
    expression: *mut Node,
    facts: Option<Facts>,
}

/// The expressions that were evaluated while planning one query.
struct Planning {
    /// Together, the next three identify the query.
    glob: *mut pg_sys::PlannerGlobal,
    started: pg_sys::TimestampTz,
    command: pg_sys::CommandId,
    evaluated: Vec<Evaluated>,
    /// The memory context of the copied expressions.
    context: Context,
}

thread_local! {
    static PLANNING: RefCell<Option<Planning>> = const { RefCell::new(None) };
}

impl Planning {
    unsafe fn new(root: *mut PlannerInfo) -> Planning {
        // SAFETY: `root` belongs to a query that is being planned; the callback is allocated in the context it is
        // registered for.
        unsafe {
            let size = size_of::<pg_sys::MemoryContextCallback>();
            let callback =
                pg_sys::MemoryContextAllocZero((*root).planner_cxt, size).cast::<pg_sys::MemoryContextCallback>();
            (*callback).func = Some(at_end_of_planning);
            pg_sys::MemoryContextRegisterResetCallback((*root).planner_cxt, callback);
            Planning {
                glob: (*root).glob,
                started: pg_sys::GetCurrentStatementStartTimestamp(),
                command: pg_sys::GetCurrentCommandId(false),
                evaluated: Vec::new(),
                context: Context::new(pg_sys::TopMemoryContext, c"pg_lsbf planning"),
            }
        }
    }

    unsafe fn is_of(&self, root: *mut PlannerInfo) -> bool {
        // SAFETY: `root` belongs to a query that is being planned.
        unsafe {
            self.glob == (*root).glob
                && self.started == pg_sys::GetCurrentStatementStartTimestamp()
                && self.command == pg_sys::GetCurrentCommandId(false)
        }
    }
}

unsafe fn recall(root: *mut PlannerInfo, expression: *mut Node) -> Option<Option<Facts>> {
    PLANNING.with_borrow(|planning| {
        // SAFETY: both expressions exist: one belongs to the query, the other is a copy in the context of `planning`.
        unsafe {
            let planning = planning.as_ref().filter(|planning| planning.is_of(root))?;
            let is_same = |entry: &&Evaluated| pg_sys::equal(entry.expression.cast(), expression.cast());
            planning.evaluated.iter().find(is_same).map(|entry| entry.facts.clone())
        }
    })
}

unsafe fn remember(root: *mut PlannerInfo, expression: *mut Node, facts: Option<Facts>) {
    const MAX_EVALUATED: usize = 32;
    PLANNING.with_borrow_mut(|planning| {
        // SAFETY: the expression belongs to the query; its copy lives as long as `planning`.
        unsafe {
            let has_room = |planning: &Planning| planning.is_of(root) && planning.evaluated.len() < MAX_EVALUATED;
            if !planning.as_ref().is_some_and(has_room) {
                *planning = Some(Planning::new(root));
            }
            if let Some(planning) = planning {
                let expression = planning.context.with(|| pg_sys::copyObjectImpl(expression.cast())).cast();
                planning.evaluated.push(Evaluated { expression, facts });
            }
        }
    });
}

/// Called when the memory of a planned query is freed: another query may then be planned at the same address.
unsafe extern "C-unwind" fn at_end_of_planning(_: *mut std::ffi::c_void) {
    guard::contained(release);
}

/// Drops the evaluated expressions, at the latest at the end of the transaction.
pub fn release() {
    PLANNING.with(|planning| {
        if let Ok(mut planning) = planning.try_borrow_mut() {
            *planning = None;
        }
    });
}

/// The theta of a call; 1 if it is not known or not valid.
unsafe fn theta(root: Option<*mut PlannerInfo>, args: *mut pg_sys::List) -> f64 {
    // SAFETY: `args` is a list of expressions, and `root` belongs to the query that is being planned.
    let theta = unsafe {
        argument(args, 2)
            .map(|expression| match root {
                Some(root) => pg_sys::estimate_expression_value(root, expression),
                None => expression,
            })
            .and_then(|value| constant(value, |type_| type_ == pg_sys::FLOAT8OID))
            .map_or(1.0, |datum| f64::from_bits(datum.value() as u64))
    };
    if check_theta(theta).is_ok() { theta } else { 1.0 }
}

/// The fraction of rows that pass. The latest results are kept: for filters with wide windows it takes up to seconds to
/// compute, and the planner requests it for every partition.
fn selectivity(facts: &Facts, theta: f64) -> f64 {
    const MAX_COMPUTED: usize = 16;
    thread_local! {
        static COMPUTED: RefCell<Vec<(Facts, f64, f64)>> = const { RefCell::new(Vec::new()) };
    }
    let same = |(of, at, _): &&(Facts, f64, f64)| of == facts && *at == theta;
    if let Some(share) = COMPUTED.with_borrow(|computed| computed.iter().find(same).map(|(_, _, share)| *share)) {
        return share;
    }
    let share = (unrelated(facts, theta) + NEAR_ROWS).clamp(1e-6, 1.0);
    COMPUTED.with_borrow_mut(|computed| {
        computed.truncate(MAX_COMPUTED - 1);
        computed.insert(0, (facts.clone(), theta, share));
    });
    share
}

fn support(call: &Call) -> Result<Datum> {
    let request: *mut Node = call.required(0, &[pg_sys::INTERNALOID]).cast_mut_ptr();
    // SAFETY: PostgreSQL passes a request node of the type that its tag names.
    unsafe {
        match (*request).type_ {
            NodeTag::T_SupportRequestSelectivity => {
                let request = request.cast::<pg_sys::SupportRequestSelectivity>();
                let (root, args) = ((*request).root, (*request).args);
                let facts = estimated_filter(root, args);
                (*request).selectivity =
                    facts.map_or(DEFAULT_SELECTIVITY, |facts| selectivity(&facts, theta(Some(root), args)));
            }
            NodeTag::T_SupportRequestCost => {
                let request = request.cast::<pg_sys::SupportRequestCost>();
                let node = (*request).node.cast::<pg_sys::FuncExpr>();
                if node.is_null() || (*node).xpr.type_ != NodeTag::T_FuncExpr {
                    return Ok(Datum::null());
                }
                let Some(facts) = constant_filter((*node).args) else { return Ok(Datum::null()) };
                (*request).startup = 0.0;
                (*request).per_tuple =
                    query_cost(&facts.params, facts.dims, theta(None, (*node).args)) * pg_sys::cpu_operator_cost;
            }
            _ => return Ok(Datum::null()),
        }
        Ok(Datum::from(request))
    }
}
pg_function!("approx_member_support" -> pg_sys::INTERNALOID, support);
