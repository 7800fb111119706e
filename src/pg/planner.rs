//! What the planner should know of approx_member: how many rows pass, and what asking costs.

use super::call::{Call, pg_function};
use super::image;
use crate::error::Result;
use crate::filter::Facts;
use crate::filter::params::check_theta;
use crate::theory::{false_positives, question_cost};
use pgrx::pg_sys::{self, Datum, NodeTag};

/// Rows that are near a member, where nothing is known: the question is asked because they are few.
const NEAR_ROWS: f64 = 0.01;
/// Selectivity where the filter is not known at planning time.
const UNKNOWN: f64 = 0.05;

/// An argument of a call, if it is a constant when the query is planned.
///
/// With `root`, stable functions are called for their value, as the planner does for selectivity.
unsafe fn constant(root: Option<*mut pg_sys::PlannerInfo>, args: *mut pg_sys::List, n: usize) -> Option<Datum> {
    // SAFETY: `args` is a list of expressions, and `n` is checked against its length.
    unsafe {
        if args.is_null() || n >= (*args).length as usize {
            return None;
        }
        let expression = (*(*args).elements.add(n)).ptr_value.cast::<pg_sys::Node>();
        let value = root.map_or(expression, |root| pg_sys::estimate_expression_value(root, expression));
        let constant = value.cast::<pg_sys::Const>();
        ((*value).type_ == NodeTag::T_Const && !(*constant).constisnull).then(|| (*constant).constvalue)
    }
}

/// What is known of a call's filter.
unsafe fn constant_filter(root: Option<*mut pg_sys::PlannerInfo>, args: *mut pg_sys::List) -> Option<Facts> {
    // SAFETY: `args` are the arguments of the function this support function belongs to, a filter first.
    unsafe { Facts::of(image::read(constant(root, args, 0)?).ok()?.words).ok() }
}

/// The theta of a call; 1 where it is not known or not allowed.
unsafe fn constant_theta(root: Option<*mut pg_sys::PlannerInfo>, args: *mut pg_sys::List) -> f64 {
    // SAFETY: the third argument is a double precision.
    let theta = unsafe { constant(root, args, 2) }.map_or(1.0, |datum| f64::from_bits(datum.value() as u64));
    if check_theta(theta).is_ok() { theta } else { 1.0 }
}

/// The share of unrelated rows that pass. Predicted rates are those of rows at theta x far, but rows do not move away as
/// theta grows: what passes at 1 passes at every larger theta.
fn strangers(facts: &Facts, theta: f64) -> f64 {
    let rate = false_positives(facts, theta);
    if theta > 1.0 { rate.max(false_positives(facts, 1.0)) } else { rate }
}

fn support(call: &Call) -> Result<Datum> {
    let request: *mut pg_sys::Node = call.required(0).cast_mut_ptr();
    // SAFETY: PostgreSQL passes a request node of the type its tag names.
    unsafe {
        match (*request).type_ {
            NodeTag::T_SupportRequestSelectivity => {
                let request = request.cast::<pg_sys::SupportRequestSelectivity>();
                let facts = constant_filter(Some((*request).root), (*request).args);
                let theta = constant_theta(Some((*request).root), (*request).args);
                let passing = facts.map_or(UNKNOWN, |f| (strangers(&f, theta) + NEAR_ROWS).clamp(1e-6, 1.0));
                (*request).selectivity = passing;
            }
            NodeTag::T_SupportRequestCost => {
                let request = request.cast::<pg_sys::SupportRequestCost>();
                let node = (*request).node.cast::<pg_sys::FuncExpr>();
                if node.is_null() || (*node).xpr.type_ != NodeTag::T_FuncExpr {
                    return Ok(Datum::null());
                }
                let Some(facts) = constant_filter(None, (*node).args) else { return Ok(Datum::null()) };
                (*request).startup = 0.0;
                (*request).per_tuple = question_cost(&facts.params, facts.dims, constant_theta(None, (*node).args))
                    * pg_sys::cpu_operator_cost;
            }
            _ => return Ok(Datum::null()),
        }
        Ok(Datum::from(request))
    }
}
pg_function!(approx_member_support, support);
