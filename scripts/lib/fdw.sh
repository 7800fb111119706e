# Links between private servers through postgres_fdw.
# shellcheck shell=bash

# fdw_link SERVER REMOTE [OPTIONS] [HOST]: makes REMOTE known to SERVER as a foreign server of its name. OPTIONS follow
# the place, such as ", use_remote_estimate 'true'"; HOST is the directory of another socket than that of REMOTE.
# The extension is what lets functions be shipped: it is installed on both sides, in the same schema.
fdw_link() {
  server_query "$1" "SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS postgres_fdw;
    CREATE SERVER $2 FOREIGN DATA WRAPPER postgres_fdw
      OPTIONS (host '${4:-$(server_dir "$2")}', dbname 'postgres'${3-, extensions 'pg_lsbf'});
    CREATE USER MAPPING FOR postgres SERVER $2 OPTIONS (user 'postgres')"
}

# without_filters: shortens the text of filters in plans
without_filters() { sed -E "s/'[A-Za-z0-9+\/=]{40,}'::(public\.)?lsbf/FILTER/g"; }
