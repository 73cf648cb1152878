-- findAgent
-- postgres
select agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks, may_act_names, redirect_uris, public_client, client_id_document, client_names, delegates_to, enabled, revision, created_at, updated_at, keys_since from agents where agent_id = $1;
-- sqlite
select agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks, may_act_names, redirect_uris, public_client, client_id_document, client_names, delegates_to, enabled, revision, created_at, updated_at, keys_since from agents where agent_id = ?;

-- findAgentByDocument
-- postgres
select agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks, may_act_names, redirect_uris, public_client, client_id_document, client_names, delegates_to, enabled, revision, created_at, updated_at, keys_since from agents where client_id_document = $1;
-- sqlite
select agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks, may_act_names, redirect_uris, public_client, client_id_document, client_names, delegates_to, enabled, revision, created_at, updated_at, keys_since from agents where client_id_document = ?;

-- listAgents: all agents
-- postgres
select agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks, may_act_names, redirect_uris, public_client, client_id_document, client_names, delegates_to, enabled, revision, created_at, updated_at, keys_since from agents
  order by agent_id;
-- sqlite
select agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks, may_act_names, redirect_uris, public_client, client_id_document, client_names, delegates_to, enabled, revision, created_at, updated_at, keys_since from agents
  order by agent_id;

-- listAgents: a page
-- postgres
select agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks, may_act_names, redirect_uris, public_client, client_id_document, client_names, delegates_to, enabled, revision, created_at, updated_at, keys_since from agents
  where agent_id > $1
  order by agent_id limit $2;
-- sqlite
select agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks, may_act_names, redirect_uris, public_client, client_id_document, client_names, delegates_to, enabled, revision, created_at, updated_at, keys_since from agents
  where agent_id > ?
  order by agent_id limit ?;

-- longestTokens
-- postgres
select agent_id, max_token_ttl from agents where max_token_ttl > $1
  order by max_token_ttl desc, agent_id desc limit $2;
-- sqlite
select agent_id, max_token_ttl from agents where max_token_ttl > ?
  order by max_token_ttl desc, agent_id desc limit ?;

-- publicClients
-- postgres
select agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks, may_act_names, redirect_uris, public_client, client_id_document, client_names, delegates_to, enabled, revision, created_at, updated_at, keys_since from agents
  where public_client and enabled and redirect_uris is not null and client_id_document is null
  order by agent_id;
-- sqlite
select agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks, may_act_names, redirect_uris, public_client, client_id_document, client_names, delegates_to, enabled, revision, created_at, updated_at, keys_since from agents
  where public_client and enabled and redirect_uris is not null and client_id_document is null
  order by agent_id;
