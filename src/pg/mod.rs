use pgrx::pg_sys;
use pgrx::prelude::*;

::pgrx::pg_module_magic!(name, version);

extension_sql_file!("../../sql/pg_lsbf.sql", name = "pg_lsbf", bootstrap);

macro_rules! pg_function {
    ($name:ident, $body:path) => {
        const _: () = {
            #[unsafe(export_name = concat!("pg_finfo_", stringify!($name)))]
            extern "C" fn finfo() -> &'static pg_sys::Pg_finfo_record {
                const V1: pg_sys::Pg_finfo_record = pg_sys::Pg_finfo_record { api_version: 1 };
                &V1
            }
            #[unsafe(export_name = stringify!($name))]
            #[pg_guard]
            extern "C-unwind" fn call(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
                $body(fcinfo)
            }
        };
    };
}

fn hello(_f: pg_sys::FunctionCallInfo) -> pg_sys::Datum { pg_sys::Datum::from(42) }
pg_function!(lsbf_hello, hello);

#[cfg(any(test, feature = "pg_test"))]
#[pg_schema]
mod tests {
    use pgrx::prelude::*;
    #[pg_test]
    fn answers() {
        assert_eq!(Spi::get_one::<i32>("select lsbf_hello()").unwrap(), Some(42));
    }
}
#[cfg(test)]
pub mod pg_test {
    pub fn setup(_options: Vec<&str>) {}
    pub fn postgresql_conf_options() -> Vec<&'static str> { vec![] }
}
