-- What a script finds: base functions, libraries and `redis`, none of which it can change. Its argument is a table of
-- functions of the program's. Texts of errors are Redis'.
local raw = ...
local error, type, tostring, select, next, pairs, rawget, rawset =
    error, type, tostring, select, next, pairs, rawget, rawset
local setmetatable, getmetatable, pcall0, xpcall0, loadstring0 = setmetatable, getmetatable, pcall, xpcall, loadstring
local collectgarbage0, floor, concat = collectgarbage, math.floor, table.concat

local READONLY = 'Attempt to modify a readonly table'
local protected = {}

local function readonly()
    error(READONLY, 2)
end

-- An empty table before another one: nothing can be set in it.
local function protect(inner)
    local outer = setmetatable({}, { __index = inner, __newindex = readonly, __metatable = false })
    protected[outer] = true
    return outer
end

local real = {}

for _, name in pairs({ 'assert', 'error', 'gcinfo', 'getmetatable', 'ipairs', 'next', 'pairs', 'rawequal', 'rawget',
    'select', 'tonumber', 'tostring', 'type', 'unpack', '_VERSION' }) do
    real[name] = _G[name]
end

-- What is caught: not that the script has run for too long, nor what the engine says. Errors of commands, and of other
-- functions of the program's, are texts.
local function caught(ok, e, ...)
    if ok then
        return ok, e, ...
    end
    if raw.over() then
        error(e, 0)
    end
    if type(e) == 'table' and rawget(e, 'err') ~= nil then
        e = e.err
    elseif type(e) == 'userdata' then
        e = raw.text(e)
    end
    return false, e
end

function real.pcall(...)
    return caught(pcall0(...))
end

function real.xpcall(f, handler)
    return caught(xpcall0(f, handler))
end

function real.rawset(table, key, value)
    if protected[table] then
        error(READONLY, 0)
    end
    return rawset(table, key, value)
end

function real.setmetatable(table, meta)
    if protected[table] then
        error(READONLY, 0)
    end
    return setmetatable(table, meta)
end

-- Machine code of Lua is not checked by it.
function real.loadstring(text, name)
    if type(text) == 'string' and text:byte(1) == 27 then
        return nil, 'binary chunks are not loaded'
    end
    return loadstring0(text, name)
end

function real.load(reader, name)
    local parts = {}
    while true do
        local part = reader()
        if part == nil or part == '' then
            return real.loadstring(concat(parts), name or '=(load)')
        end
        parts[#parts + 1] = part
    end
end

function real.collectgarbage(what)
    if what == 'count' then
        return collectgarbage0('count')
    end
    return 0
end

local math = {}
for name, f in pairs(_G.math) do
    math[name] = f
end

function math.random(from, to)
    local r = raw.random()
    if from == nil then
        return r
    end
    if to == nil then
        from, to = 1, from
    end
    if from > to then
        error("bad argument #1 to 'random' (interval is empty)", 2)
    end
    return floor(r * (to - from + 1)) + from
end

function math.randomseed(seed)
    raw.randomseed(seed)
end

-- Lua's own go back without a bound. Methods of strings are found here, too.
local string = _G.string
string.find, string.match, string.gmatch, string.gsub = raw.find, raw.match, raw.gmatch, raw.gsub
string.gfind = nil

local coroutine = {}
for name, f in pairs(_G.coroutine) do
    coroutine[name] = f
end

-- Each takes a part of the stack of the program's thread, which Lua 5.1 does not count.
local COROUTINES_MAX = 3
local depth = 0
local create0, resume0 = coroutine.create, coroutine.resume

local function resumed(...)
    depth = depth - 1
    return ...
end

local function resume(...)
    if depth >= COROUTINES_MAX then
        return false, 'C stack overflow'
    end
    depth = depth + 1
    return resumed(resume0(...))
end

function coroutine.resume(...)
    return caught(resume(...))
end

local function unwrapped(ok, e, ...)
    if ok then
        return e, ...
    end
    error(e, 0)
end

function coroutine.wrap(f)
    local thread = create0(f)
    return function(...)
        return unwrapped(resume(thread, ...))
    end
end

local redis = {
    LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
    REPL_NONE = 0, REPL_AOF = 1, REPL_SLAVE = 2, REPL_REPLICA = 2, REPL_ALL = 3,
    REDIS_VERSION = raw.version, REDIS_VERSION_NUM = raw.version_number,
}

redis.call, redis.sha1hex, redis.setresp, redis.log = raw.call, raw.sha1hex, raw.setresp, raw.log
redis.set_repl, redis.acl_check_cmd = raw.set_repl, raw.acl_check_cmd

function redis.pcall(...)
    return raw.pcall(...)
end

local function reply_of(field)
    return function(...)
        local text = ...
        if select('#', ...) ~= 1 or type(text) ~= 'string' then
            return { err = 'ERR wrong number or type of arguments' }
        end
        if field == 'err' and text:sub(1, 1) == '-' then
            text = text:sub(2)
        end
        return { [field] = text }
    end
end
redis.error_reply = reply_of('err')
redis.status_reply = reply_of('ok')

function redis.replicate_commands()
    return true
end

function redis.breakpoint()
    return false
end

function redis.debug() end

local cjson = { null = raw.null, encode = raw.json_encode, decode = raw.json_decode }
local cmsgpack = { pack = raw.pack, unpack = raw.unpack }

for name, library in pairs({ bit = raw.bit, cjson = cjson, cmsgpack = cmsgpack, coroutine = coroutine, math = math,
    redis = redis, string = string, table = table }) do
    real[name] = protect(library)
end
-- What methods of strings are found in.
getmetatable('').__metatable = false

setmetatable(real, { __index = function(_, name)
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
end })
local env = protect(real)
real._G = env

-- What ends a script that does not catch it: the text, and the line.
local function ended(e)
    local line = raw.line()
    if type(e) == 'table' then
        local err = rawget(e, 'err')
        return { err = err ~= nil and tostring(err) or 'ERR unknown error', line = line }
    end
    if type(e) == 'userdata' then
        return { err = raw.whole_text(e), line = line }
    end
    return { err = 'ERR ' .. tostring(e), line = line }
end

return {
    env = env,
    run = function(f, keys, arguments)
        depth = 0
        real.KEYS, real.ARGV = keys, arguments
        return xpcall0(f, ended)
    end,
    -- Whether no script has put anything where the next one would find it.
    is_clean = function()
        for outer in pairs(protected) do
            if next(outer) ~= nil then
                return false
            end
        end
        return true
    end,
}
