-- The health of a ServiceBulkhead. It says what kstatus says:
--   Progressing  the operator has not seen the last change yet, or the object is being deleted
--   Healthy      the ConfigMap holds the bulkhead as it is now
--   Degraded     it waits for a person, and the message says for what
local function health(status, message)
  return {status = status, message = message}
end

if obj.metadata.deletionTimestamp ~= nil then
  return health("Progressing", "being deleted")
end

-- Conditions about an older generation say nothing about this one.
if obj.status == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return health("Progressing", "the operator has not seen the last change yet")
end

local conditions = {}
for _, condition in ipairs(obj.status.conditions or {}) do
  conditions[condition.type] = condition
end

local stalled, ready = conditions.Stalled, conditions.Ready
if stalled ~= nil and stalled.status == "True" then
  return health("Degraded", stalled.reason .. ": " .. stalled.message)
end
if ready ~= nil and ready.status == "True" then
  return health("Healthy", ready.message)
end
if ready ~= nil then
  return health("Progressing", ready.reason .. ": " .. ready.message)
end
return health("Progressing", "the operator has not said yet whether it is ready")
