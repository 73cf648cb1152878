-- delete_task_purposes
-- postgres
delete from task_purposes where task_id = any (array(select json_array_elements_text($1::json)));
-- sqlite
delete from task_purposes where task_id in (select value from json_each(?));

-- delete_task_grants
-- postgres
delete from task_grants where task_id = any (array(select json_array_elements_text($1::json)));
-- sqlite
delete from task_grants where task_id in (select value from json_each(?));

-- delete_authorizations
-- postgres
delete from authorizations where task_id = any (array(select json_array_elements_text($1::json)));
-- sqlite
delete from authorizations where task_id in (select value from json_each(?));

-- delete_approval_notices
-- postgres
delete from approval_notices where approval_id = any (array(select approval_id from approvals where task_id = any (array(select json_array_elements_text($1::json)))));
-- sqlite
delete from approval_notices where approval_id in (select approval_id from approvals where task_id in (select value from json_each(?)));

-- delete_approvals
-- postgres
delete from approvals where task_id = any (array(select json_array_elements_text($1::json)));
-- sqlite
delete from approvals where task_id in (select value from json_each(?));

-- delete_tasks
-- postgres
delete from tasks where task_id = any (array(select json_array_elements_text($1::json)));
-- sqlite
delete from tasks where task_id in (select value from json_each(?));

-- expireTasks
-- postgres
update tasks set state = 'expired', ended_at = expires_at where task_id = any (array(select json_array_elements_text($1::json)));
-- sqlite
update tasks set state = 'expired', ended_at = expires_at where task_id in (select value from json_each(?));

-- revokeGrants
-- postgres
update task_grants set revoked_at = $1 where task_id = any (array(select json_array_elements_text($2::json)));
-- sqlite
update task_grants set revoked_at = ? where task_id in (select value from json_each(?));

-- revokeTasks
-- postgres
update tasks set state = 'revoked', ended_at = $1, end_reason = $2 where task_id = any (array(select json_array_elements_text($3::json)));
-- sqlite
update tasks set state = 'revoked', ended_at = ?, end_reason = ? where task_id in (select value from json_each(?));

-- withdrawApprovals
-- postgres
update approvals set state = 'withdrawn', closed_at = $1 where task_id = any (array(select json_array_elements_text($2::json))) and state in ('pending', 'granted');
-- sqlite
update approvals set state = 'withdrawn', closed_at = ? where task_id in (select value from json_each(?)) and state in ('pending', 'granted');
