-- The health of a ServiceBulkhead. Of every status that the operator writes it says
-- what kstatus says:
--   Progressing  the operator has not seen the last change yet, or the object is being deleted
--   Healthy      the ConfigMap holds the bulkhead as it is now
--   Degraded     it waits for a person, and the message says for what
-- Where nobody has written whether it is ready, kstatus would call it done; here it is
-- Progressing.
local function health(status, message)
  return {status = status, message = message}
end

local function words(condition)
  return (condition.reason or "") .. ": " .. (condition.message or "")
end

if obj.metadata.deletionTimestamp ~= nil then
  return health("Progressing", "being deleted")
end

-- Conditions about an older generation say nothing about this one.
local status = obj.status or {}
if status.observedGeneration ~= nil and status.observedGeneration ~= obj.metadata.generation then
  return health("Progressing", "the operator has not seen the last change yet")
end

-- Of several conditions of a type, which only a client without a schema can show, the
-- first counts.
local ready
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "Reconciling" and condition.status == "True" then
    return health("Progressing", words(condition))
  end
  if condition.type == "Stalled" and condition.status == "True" then
    return health("Degraded", words(condition))
  end
  if condition.type == "Ready" then
    ready = ready or condition
  end
end

if ready == nil then
  return health("Progressing", "the operator has not said yet whether it is ready")
end
if ready.status == "True" then
  return health("Healthy", ready.message or "")
end
return health("Progressing", words(ready))
