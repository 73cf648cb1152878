-- countUsers
-- postgres
select count(*) as users from provisioned_users;
-- sqlite
select count(*) as users from provisioned_users;

-- findUser
-- postgres
select user_id, user_name, external_id, active, sponsor_key, revision, created_at, modified_at from provisioned_users where user_id = $1;
-- sqlite
select user_id, user_name, external_id, active, sponsor_key, revision, created_at, modified_at from provisioned_users where user_id = ?;

-- listUsers: all users
-- postgres
select counted.total, page.*
  from (select count(*) as total from provisioned_users ) counted
  left join (select user_id, user_name, external_id, active, sponsor_key, revision, created_at, modified_at from provisioned_users  order by user_id limit $1 offset $2) page on true
  order by page.user_id;
-- sqlite
select counted.total, page.*
  from (select count(*) as total from provisioned_users ) counted
  left join (select user_id, user_name, external_id, active, sponsor_key, revision, created_at, modified_at from provisioned_users  order by user_id limit ? offset ?) page on true
  order by page.user_id;

-- listUsers: users of a name
-- postgres
select counted.total, page.*
  from (select count(*) as total from provisioned_users where user_name_key = $1) counted
  left join (select user_id, user_name, external_id, active, sponsor_key, revision, created_at, modified_at from provisioned_users where user_name_key = $1 order by user_id limit $2 offset $3) page on true
  order by page.user_id;
-- sqlite
select counted.total, page.*
  from (select count(*) as total from provisioned_users where user_name_key = ?) counted
  left join (select user_id, user_name, external_id, active, sponsor_key, revision, created_at, modified_at from provisioned_users where user_name_key = ? order by user_id limit ? offset ?) page on true
  order by page.user_id;

-- listUsers: users of an external id
-- postgres
select counted.total, page.*
  from (select count(*) as total from provisioned_users where external_id = $1) counted
  left join (select user_id, user_name, external_id, active, sponsor_key, revision, created_at, modified_at from provisioned_users where external_id = $1 order by user_id limit $2 offset $3) page on true
  order by page.user_id;
-- sqlite
select counted.total, page.*
  from (select count(*) as total from provisioned_users where external_id = ?) counted
  left join (select user_id, user_name, external_id, active, sponsor_key, revision, created_at, modified_at from provisioned_users where external_id = ? order by user_id limit ? offset ?) page on true
  order by page.user_id;

-- usersOfPerson
-- postgres
select user_id, user_name, external_id, active, sponsor_key, revision, created_at, modified_at from provisioned_users where sponsor_key = $1 order by user_id;
-- sqlite
select user_id, user_name, external_id, active, sponsor_key, revision, created_at, modified_at from provisioned_users where sponsor_key = ? order by user_id;
