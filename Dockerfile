# PostgreSQL with pg_lsbf: docker build -t postgres-lsbf --build-arg PG=18 .
ARG PG=18
FROM rust:1.95-bookworm AS rust

FROM postgres:${PG}-bookworm AS build
ARG PG
RUN apt-get update \
 && apt-get install -y --no-install-recommends build-essential clang libclang-dev make postgresql-server-dev-${PG}
COPY --from=rust /usr/local/cargo /usr/local/cargo
COPY --from=rust /usr/local/rustup /usr/local/rustup
ENV CARGO_HOME=/usr/local/cargo RUSTUP_HOME=/usr/local/rustup PATH=/usr/local/cargo/bin:$PATH
WORKDIR /src
COPY . .
RUN make install PG_CONFIG=/usr/lib/postgresql/${PG}/bin/pg_config DESTDIR=/out

FROM postgres:${PG}-bookworm
COPY --from=build /out/ /
