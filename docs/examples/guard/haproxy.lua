-- Asks the guard about a request. 204 lets it pass, with the headers of the answer. Everything else refuses it.

local GUARD = "http://127.0.0.1:8099/decide"
local NAMES = { "mandate-subject", "mandate-agent", "mandate-task", "mandate-scope", "mandate-issuer", "mandate-chain" }
local OF_REFUSAL = {
  "www-authenticate", "retry-after", "content-type", "cache-control",
  -- With `origins` in the guard's file.
  "access-control-allow-origin", "access-control-expose-headers", "vary",
}

-- HAProxy counts the values of a header from 0.
local function first(headers, name)
  local values = headers[name]
  return values and values[0]
end

core.register_action("ask_guard", { "http-req" }, function(txn)
  local asked = {
    ["x-original-method"] = { txn.f:method() },
    ["x-original-uri"] = { txn.f:pathq() },
  }
  -- All of them: the guard refuses two.
  local sent = txn.http:req_get_headers()
  for _, name in ipairs { "authorization", "origin" } do
    local given = sent[name]
    if given then
      asked[name] = {}
      for at = 0, #given do table.insert(asked[name], given[at]) end
    end
  end

  local answer = core.httpclient():get { url = GUARD, headers = asked, timeout = 10000 }

  if answer and answer.status == 204 then
    for _, name in ipairs(NAMES) do
      local value = first(answer.headers, name)
      -- The guard names the issuer only if its file has a list of them, and the chain only if a policy accepts one.
      if value then txn.http:req_set_header(name, value) else txn.http:req_del_header(name) end
    end
    -- The service does not get the token.
    txn.http:req_del_header("authorization")
    return
  end

  -- Without an answer of the guard the status is 0, or one of HAProxy.
  local status = answer and answer.status or 0
  local known = status == 401 or status == 403 or status == 500
  local reply = txn:reply { status = known and status or 503 }
  for _, name in ipairs(OF_REFUSAL) do
    local value = answer and answer.headers and first(answer.headers, name)
    if value then reply:add_header(name, value) end
  end
  if answer and answer.body then reply:set_body(answer.body) end
  txn:done(reply)
end)
