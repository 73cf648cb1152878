-- Two roles and a database for Mandate. psql runs this once as a superuser. mandate_owner owns the schema, and only
-- `mandate migrate` uses it. mandate serves: it can append to the ledger but not change it.
\set ON_ERROR_STOP on
\getenv owner_password MANDATE_OWNER_PASSWORD
\getenv serving_password MANDATE_SERVING_PASSWORD

create role mandate_owner login password :'owner_password';
create role mandate login password :'serving_password';
create database mandate owner mandate_owner encoding 'UTF8' template template0;
revoke connect on database mandate from public;
grant connect on database mandate to mandate;
