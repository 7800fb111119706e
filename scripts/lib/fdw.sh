# Links between private servers through postgres_fdw.
# shellcheck shell=bash

# fdw_link SERVER REMOTE [OPTIONS] [HOST]: creates REMOTE as a foreign server on SERVER. OPTIONS replace ", extensions
# 'pg_lsbf'", which allows functions of the extension to be shipped, if it is installed in the same schema on both sides. HOST
# is the socket directory to use instead of REMOTE's own.
fdw_link() {
  server_query "$1" "SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS postgres_fdw;
    CREATE SERVER $2 FOREIGN DATA WRAPPER postgres_fdw
      OPTIONS (host '${4:-$(server_dir "$2")}', dbname 'postgres'${3-, extensions 'pg_lsbf'});
    CREATE USER MAPPING FOR postgres SERVER $2 OPTIONS (user 'postgres')"
}

# without_filters: replaces the text of filters in plans by FILTER
without_filters() { sed -E "s/'[A-Za-z0-9+\/=]{40,}'::(public\.)?lsbf/FILTER/g"; }
