//! What the planner should know of approx_member: how many rows pass, and what a query costs.

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

/// Rows that are near a member, where nothing is known: the question is asked because they are few.
const NEAR_ROWS: f64 = 0.01;
/// Selectivity where the filter is not known at planning time.
const UNKNOWN: f64 = 0.05;

/// An argument of a call.
unsafe fn argument(args: *mut pg_sys::List, n: usize) -> Option<*mut Node> {
    // SAFETY: `args` is a list of expressions, and `n` is checked against its length.
    unsafe {
        let args = args.as_ref().filter(|args| n < args.length as usize)?;
        Some((*args.elements.add(n)).ptr_value.cast())
    }
}

/// The value of an expression that is a constant of this type.
unsafe fn constant(expression: *mut Node, is_type: impl FnOnce(pg_sys::Oid) -> bool) -> Option<Datum> {
    // SAFETY: the expression is of the type its tag names.
    unsafe {
        let constant = expression.cast::<pg_sys::Const>();
        ((*expression).type_ == NodeTag::T_Const && !(*constant).constisnull && is_type((*constant).consttype))
            .then(|| (*constant).constvalue)
    }
}

/// What is known of a filter from the bytes before its bits.
fn facts(filter: Datum) -> Option<Facts> {
    let (front, words) = filters::front(filter).ok()?;
    Facts::estimated(&front, words).ok()
}

/// What is known of a call's filter, if it is a constant.
unsafe fn constant_filter(args: *mut pg_sys::List) -> Option<Facts> {
    // SAFETY: as above.
    facts(unsafe { constant(argument(args, 0)?, signature::is_lsbf)? })
}

/// The same where functions may be called for the filter, as the planner does to estimate selectivities.
unsafe fn estimated_filter(root: *mut PlannerInfo, args: *mut pg_sys::List) -> Option<Facts> {
    // SAFETY: as above; the expression belongs to the query that is being planned.
    unsafe {
        let expression = argument(args, 0)?;
        if (*expression).type_ == NodeTag::T_Const {
            return facts(constant(expression, signature::is_lsbf)?);
        }
        if let Some(known) = recalled(root, expression) {
            return known;
        }
        let context = Context::new(pg_sys::CurrentMemoryContext, c"pg_lsbf filter");
        let known = context.with(|| {
            let value = pg_sys::estimate_expression_value(root, expression);
            constant(value, signature::is_lsbf).and_then(facts)
        });
        remember(root, expression, known.clone());
        known
    }
}

/// What a filter was found to be while a query was planned. The planner asks once for every partition, and functions that
/// return filters are called, and their results detoasted, by PostgreSQL itself.
struct Known {
    expression: *mut Node,
    facts: Option<Facts>,
}

/// The expressions met while a query is planned.
struct Planning {
    /// The query, and the time of its statement.
    glob: *mut pg_sys::PlannerGlobal,
    started: pg_sys::TimestampTz,
    command: pg_sys::CommandId,
    known: Vec<Known>,
    /// What the expressions lie in.
    context: Context,
}

thread_local! {
    static PLANNING: RefCell<Option<Planning>> = const { RefCell::new(None) };
}

impl Planning {
    unsafe fn new(root: *mut PlannerInfo) -> Planning {
        // SAFETY: the root is that of a query that is being planned; what is called when its memory is given back lies in it.
        unsafe {
            let size = size_of::<pg_sys::MemoryContextCallback>();
            let callback =
                pg_sys::MemoryContextAllocZero((*root).planner_cxt, size).cast::<pg_sys::MemoryContextCallback>();
            (*callback).func = Some(at_end);
            pg_sys::MemoryContextRegisterResetCallback((*root).planner_cxt, callback);
            Planning {
                glob: (*root).glob,
                started: pg_sys::GetCurrentStatementStartTimestamp(),
                command: pg_sys::GetCurrentCommandId(false),
                known: Vec::new(),
                context: Context::new(pg_sys::TopMemoryContext, c"pg_lsbf planning"),
            }
        }
    }

    unsafe fn is_of(&self, root: *mut PlannerInfo) -> bool {
        // SAFETY: as above.
        unsafe {
            self.glob == (*root).glob
                && self.started == pg_sys::GetCurrentStatementStartTimestamp()
                && self.command == pg_sys::GetCurrentCommandId(false)
        }
    }
}

unsafe fn recalled(root: *mut PlannerInfo, expression: *mut Node) -> Option<Option<Facts>> {
    PLANNING.with_borrow(|planning| {
        // SAFETY: the expressions that are compared are alive: one belongs to the query, the other to what is remembered.
        unsafe {
            let planning = planning.as_ref().filter(|planning| planning.is_of(root))?;
            let same = |known: &&Known| pg_sys::equal(known.expression.cast(), expression.cast());
            planning.known.iter().find(same).map(|known| known.facts.clone())
        }
    })
}

unsafe fn remember(root: *mut PlannerInfo, expression: *mut Node, facts: Option<Facts>) {
    const MOST: usize = 32;
    PLANNING.with_borrow_mut(|planning| {
        // SAFETY: as above; the copy lives as long as what is remembered.
        unsafe {
            if !planning.as_ref().is_some_and(|planning| planning.is_of(root) && planning.known.len() < MOST) {
                *planning = Some(Planning::new(root));
            }
            if let Some(planning) = planning {
                let expression = planning.context.with(|| pg_sys::copyObjectImpl(expression.cast())).cast();
                planning.known.push(Known { expression, facts });
            }
        }
    });
}

/// Called when the memory of a planned query is given back, which may then be another query's.
unsafe extern "C-unwind" fn at_end(_: *mut std::ffi::c_void) {
    guard::contained(release);
}

/// Forgets what is known, at the end of a transaction.
pub fn release() {
    PLANNING.with(|planning| {
        if let Ok(mut planning) = planning.try_borrow_mut() {
            *planning = None;
        }
    });
}

/// The theta of a call; 1 where it is not known or not allowed.
unsafe fn theta(root: Option<*mut PlannerInfo>, args: *mut pg_sys::List) -> f64 {
    // SAFETY: as above.
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

/// The share of rows that pass. It takes up to seconds to compute for filters with wide windows, and is wanted again for every
/// partition.
fn selectivity(facts: &Facts, theta: f64) -> f64 {
    const MOST: usize = 16;
    thread_local! {
        static COMPUTED: RefCell<Vec<(Facts, f64, f64)>> = const { RefCell::new(Vec::new()) };
    }
    let same = |(of, at, _): &&(Facts, f64, f64)| of == facts && *at == theta;
    if let Some(share) = COMPUTED.with_borrow(|computed| computed.iter().find(same).map(|(_, _, share)| *share)) {
        return share;
    }
    let share = (unrelated(facts, theta) + NEAR_ROWS).clamp(1e-6, 1.0);
    COMPUTED.with_borrow_mut(|computed| {
        computed.truncate(MOST - 1);
        computed.insert(0, (facts.clone(), theta, share));
    });
    share
}

fn support(call: &Call) -> Result<Datum> {
    let request: *mut Node = call.required(0, &[pg_sys::INTERNALOID]).cast_mut_ptr();
    // SAFETY: PostgreSQL passes a request node of the type its tag names.
    unsafe {
        match (*request).type_ {
            NodeTag::T_SupportRequestSelectivity => {
                let request = request.cast::<pg_sys::SupportRequestSelectivity>();
                let (root, args) = ((*request).root, (*request).args);
                let facts = estimated_filter(root, args);
                (*request).selectivity = facts.map_or(UNKNOWN, |facts| selectivity(&facts, theta(Some(root), args)));
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
pg_function!(approx_member_support -> pg_sys::INTERNALOID, support);
