-- What a script finds: base functions, libraries and `redis`, none of which it can change. Its argument is a table of
-- functions of the program's. Texts of errors are Redis'.
local raw = ...
local error, type, tostring, select, next, pairs, ipairs, rawget, rawset =
    error, type, tostring, select, next, pairs, ipairs, rawget, rawset
local setmetatable, getmetatable, pcall0, xpcall0, tonumber = setmetatable, getmetatable, pcall, xpcall, tonumber
local collectgarbage0, floor, concat, sub, unpack = collectgarbage, math.floor, table.concat, string.sub, unpack
local string, table = string, table

local READONLY = 'Attempt to modify a readonly table'
local protected = {}

local function readonly()
    error(READONLY, 2)
end

-- What scripts see as the metatable of a protected table.
local guard = setmetatable({}, { __newindex = readonly, __metatable = false })
protected[guard] = true

-- An empty table before another one: nothing can be set in it.
local function protect(inner)
    local outer = setmetatable({}, { __index = inner, __newindex = readonly, __metatable = guard })
    protected[outer] = true
    return outer
end

local real = {}

for _, name in pairs({ 'assert', 'error', 'gcinfo', 'getmetatable', 'ipairs', 'next', 'pairs', 'rawequal', 'rawget',
    'select', 'tonumber', 'tostring', 'type', '_VERSION' }) do
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

-- A handler runs without the hook if that raised the error, so that no script's runs then.
function real.xpcall(f, handler)
    return caught(xpcall0(f, function(e)
        if raw.over() then
            return e
        end
        return handler(e)
    end))
end

-- Lua's own is wrong for bounds whose difference is no number of C's.
local INT_MAX = 2147483646

function real.unpack(t, i, j)
    local first = i == nil and 1 or tonumber(i)
    local last = j == nil and type(t) == 'table' and #t or tonumber(j)
    if first and last and not (first >= -INT_MAX and first <= INT_MAX and last >= -INT_MAX and last <= INT_MAX
        and last - first < 8000) then
        error('too many results to unpack', 2)
    end
    -- As many values as there are of C's stack: no argument is one too many.
    if i == nil and j == nil then
        return unpack(t)
    end
    return unpack(t, i, j)
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

-- Lua's parser is not made for texts that are to be distrusted, and scripts make many.
for _, name in pairs({ 'load', 'loadstring' }) do
    real[name] = function()
        error(name .. ' is not supported in scripts', 2)
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

local coroutine = {}
for name, f in pairs(_G.coroutine) do
    coroutine[name] = f
end

local resume0, create, wrap = coroutine.resume, coroutine.create, coroutine.wrap
coroutine.resume = function(...)
    return caught(resume0(...))
end

-- Each counts its instructions from the beginning, so that it is charged with those that the hook does not see.
function coroutine.create(f)
    raw.spend()
    return create(f)
end

function coroutine.wrap(f)
    raw.spend()
    return wrap(f)
end

-- Patterns are matched within bounds.
string.find, string.match, string.rep = raw.find, raw.match, raw.rep

local function check_text(value, place, name)
    local kind = type(value)
    if kind ~= 'string' and kind ~= 'number' then
        kind = value == nil and 'no value' or kind
        error(('bad argument #%d to \'%s\' (string expected, got %s)'):format(place, name, kind), 3)
    end
    return tostring(value)
end

function string.gmatch(s, p)
    s, p = check_text(s, 1, 'gmatch'), check_text(p, 2, 'gmatch')
    local at = 0
    local function advance(first, last, ...)
        if first ~= nil then
            at = last > first and last or last + 1
        end
        return ...
    end
    return function()
        return advance(raw.next_match(s, p, at, false))
    end
end
string.gfind = string.gmatch

function string.gsub(s, p, by, most)
    local kind = type(by)
    if kind == 'string' or kind == 'number' then
        return raw.replaced(s, p, by, most)
    end
    s, p = check_text(s, 1, 'gsub'), check_text(p, 2, 'gsub')
    if kind ~= 'function' and kind ~= 'table' then
        error("bad argument #3 to 'gsub' (string/function/table expected)", 2)
    end
    local limit = most == nil and #s + 1 or tonumber(most)
    if limit == nil then
        error("bad argument #4 to 'gsub' (number expected, got " .. type(most) .. ')', 2)
    end
    local parts, count, at, anchored = {}, 0, 0, sub(p, 1, 1) == '^'
    -- Adds a match, and what is before it. Returns whether another one may follow.
    local function add(first, last, ...)
        if first == nil then
            return false
        end
        count = count + 1
        local value
        if kind == 'table' then
            value = by[(...)]
        else
            value = by(...)
        end
        if not value then
            value = sub(s, first + 1, last)
        elseif type(value) ~= 'string' and type(value) ~= 'number' then
            error('invalid replacement value (a ' .. type(value) .. ')', 3)
        end
        parts[#parts + 1] = sub(s, at + 1, first)
        parts[#parts + 1] = value
        at = last
        if last == first then
            if last >= #s then
                return false
            end
            at = last + 1
            parts[#parts + 1] = sub(s, at, at)
        end
        return not anchored
    end
    while count < limit and add(raw.next_match(s, p, at, true)) do end
    parts[#parts + 1] = sub(s, at + 1)
    return concat(parts), count
end

-- Lua's own compares without the hook.
local sort = table.sort
local function less(a, b)
    return a < b
end

function table.sort(t, comparator)
    return sort(t, comparator or less)
end

-- Lua's own moves as many items as there are places, and there may be many that have none.
local insert = table.insert
function table.insert(t, ...)
    if select('#', ...) == 2 and type(t) == 'table' then
        local place = tonumber((...))
        if place then
            if place > INT_MAX or place < -INT_MAX then
                error("bad argument #2 to 'insert' (position out of bounds)", 2)
            end
            raw.work(math.max(0, #t + 1 - place) * 16)
        end
    end
    return insert(t, ...)
end

local redis = {
    LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
    REPL_NONE = 0, REPL_AOF = 1, REPL_SLAVE = 2, REPL_REPLICA = 2, REPL_ALL = 3,
    REDIS_VERSION = raw.version, REDIS_VERSION_NUM = raw.version_number,
}

redis.set_repl, redis.acl_check_cmd = raw.set_repl, raw.acl_check_cmd

-- The program is given a table of the arguments, of which it holds one at a time.
function redis.call(...)
    return raw.call({ ... }, select('#', ...))
end

function redis.pcall(...)
    return raw.pcall({ ... }, select('#', ...))
end

function redis.sha1hex(...)
    return raw.sha1hex(select('#', ...), (...))
end

function redis.setresp(...)
    return raw.setresp(select('#', ...), (...))
end

function redis.log(level, ...)
    return raw.log(select('#', ...), level, { ... })
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
        if field == 'err' and text == '' then
            text = 'ERR'
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
local bit = raw.bit
for _, name in pairs({ 'band', 'bor', 'bxor' }) do
    local two = bit[name]
    bit[name] = function(first, ...)
        local folded = bit.tobit(first)
        for _, other in ipairs({ ... }) do
            folded = two(folded, other)
        end
        return folded
    end
end

local cmsgpack = { unpack = raw.unpack }

function cmsgpack.pack(...)
    return raw.pack({ ... }, select('#', ...))
end

for name, library in pairs({ bit = bit, cjson = cjson, cmsgpack = cmsgpack, coroutine = coroutine, math = math,
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

-- Libraries of functions. While one is loaded it finds another `redis`, which registers functions and runs no commands.
local loading

local function refuse(text)
    error({ err = 'ERR ' .. text }, 0)
end

local FLAGS = { ['no-writes'] = true, ['allow-oom'] = true, ['allow-stale'] = true, ['no-cluster'] = true,
    ['allow-cross-slot-keys'] = true }

local function flags_of(flags)
    if type(flags) ~= 'table' then
        refuse('flags argument to redis.register_function must be a table representing function flags')
    end
    local said = {}
    for _, flag in ipairs(flags) do
        if type(flag) ~= 'string' or not FLAGS[flag] then
            refuse('unknown flag given')
        end
        said[flag] = true
    end
    return said
end

local function named_function(given)
    local name, callback, description, said
    for key, value in next, given do
        if type(key) ~= 'string' then
            refuse('named argument key given to redis.register_function is not a string')
        elseif key == 'function_name' then
            if type(value) ~= 'string' then
                refuse('function_name argument given to redis.register_function must be a string')
            end
            name = value
        elseif key == 'description' then
            if type(value) ~= 'string' then
                refuse('description argument given to redis.register_function must be a string')
            end
            description = value
        elseif key == 'callback' then
            if type(value) ~= 'function' then
                refuse('callback argument given to redis.register_function must be a function')
            end
            callback = value
        elseif key == 'flags' then
            said = flags_of(value)
        else
            refuse('unknown argument given to redis.register_function')
        end
    end
    if name == nil then
        refuse('redis.register_function must get a function name argument')
    elseif callback == nil then
        refuse('redis.register_function must get a callback argument')
    end
    return name, callback, said or {}, description
end

local function register_function(...)
    if loading == nil then
        -- A library that kept the function calls it.
        refuse('redis.register_function can only be called on FUNCTION LOAD command')
    end
    local count, first, second = select('#', ...), ...
    if count < 1 or count > 2 then
        refuse('wrong number of arguments to redis.register_function')
    end
    local name, callback, said, description
    if count == 1 then
        if type(first) ~= 'table' then
            refuse('calling redis.register_function with a single argument is only applicable to Lua table '
                .. '(representing named arguments).')
        end
        name, callback, said, description = named_function(first)
    else
        if type(first) ~= 'string' then
            refuse('first argument to redis.register_function must be a string')
        elseif type(second) ~= 'function' then
            refuse('second argument to redis.register_function must be a function')
        end
        name, callback, said = first, second, {}
    end
    raw.work(#name)
    if name == '' or raw.find(name, '[^%w_]') then
        refuse('Library names can only contain letters, numbers, or underscores(_) and must be at least one character long')
    end
    if loading[name] ~= nil then
        refuse('Function already exists in the library')
    end
    said.callback, said.description = callback, description
    loading[name] = said
end
local loading_redis = { register_function = register_function }
for _, name in pairs({ 'LOG_DEBUG', 'LOG_VERBOSE', 'LOG_NOTICE', 'LOG_WARNING', 'REDIS_VERSION', 'REDIS_VERSION_NUM',
    'log' }) do
    loading_redis[name] = redis[name]
end
setmetatable(loading_redis, { __index = function(_, name)
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
end })
loading_redis = protect(loading_redis)

-- What libraries find: no keys and arguments, which their functions are given.
local library_env
library_env = setmetatable({}, {
    __index = function(_, name)
        if loading ~= nil then
            if name == 'redis' then
                return loading_redis
            end
        elseif name == '_G' then
            return library_env
        end
        if loading ~= nil or name == 'KEYS' or name == 'ARGV' then
            error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
        end
        return real[name]
    end,
    __newindex = readonly,
    __metatable = false,
})
protected[library_env] = true
local setfenv = setfenv

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
        real.KEYS, real.ARGV = keys, arguments
        -- A script may return more values than the program can hold.
        return xpcall0(function()
            return (f())
        end, ended)
    end,
    -- Runs the code of a library. Returns what it has registered, by the functions' names, or how it ended.
    load = function(code)
        setfenv(code, library_env)
        loading = {}
        local ok, e = xpcall0(code, ended)
        local made = loading
        loading = nil
        if ok then
            return true, made
        end
        return false, e
    end,
    call = function(f, keys, arguments)
        return xpcall0(function()
            return (f(keys, arguments))
        end, ended)
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
