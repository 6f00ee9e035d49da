-- Charges a call to windows, or takes one back, as recent.Series does: see there. KEYS are the windows. ARGV[1] is 0, or the time
-- of the call to take back, or -1 to look and charge nothing; then follow, for each window, its calls, its length in milliseconds,
-- and how many calls count that passed while nobody could tell Redis.
-- The answer: 1 if the call was charged, or could be, the time in microseconds, and for each window what remains and when it has room for one
-- more call.
local clock = redis.call('TIME')
local micros = clock[1] * 1000000 + clock[2]
local now, at = math.floor(micros / 1000), math.ceil(micros / 1000) -- a call leaves late rather than early
local back = tonumber(ARGV[1])

local windows, room = {}, true
for i, key in ipairs(KEYS) do
  local w = {most = tonumber(ARGV[3 * i - 1]), length = tonumber(ARGV[3 * i]), owed = tonumber(ARGV[3 * i + 1]), slots = {}, total = 0}
  w.width = math.max(math.floor(w.length / 60), 1)
  for last, calls in string.gmatch(redis.call('GET', key) or '', '(%d+) (%d+)') do
    last, calls = tonumber(last), tonumber(calls)
    -- More than a length ahead: the clock was wrong then.
    if last + w.length > now and last <= now + w.length then
      table.insert(w.slots, {last, calls})
      w.total = w.total + calls
    end
  end
  room = room and w.total + w.owed < w.most
  windows[i] = w
end

local function keep(key, w)
  local text = {}
  for i, slot in ipairs(w.slots) do
    text[i] = slot[1] .. ' ' .. slot[2]
  end
  if #text == 0 then
    redis.call('DEL', key)
  else
    redis.call('SET', key, table.concat(text, ' '), 'PX', w.length + 1000)
  end
end

local function add(w, calls)
  local tail = w.slots[#w.slots]
  local time = math.max(at, tail and tail[1] or 0)
  if tail and math.floor(tail[1] / w.width) == math.floor(time / w.width) then
    tail[1], tail[2] = time, tail[2] + calls
  else
    table.insert(w.slots, {time, calls})
  end
  w.total = w.total + calls
end

if back > 0 then
  back = math.ceil(back / 1000)
  for i, w in ipairs(windows) do
    for n, slot in ipairs(w.slots) do
      if math.floor(slot[1] / w.width) == math.floor(back / w.width) then
        slot[2] = slot[2] - 1
        if slot[2] == 0 then
          table.remove(w.slots, n)
        end
        keep(KEYS[i], w)
        break
      end
    end
  end
  return {0, micros}
end

local answer = {room and 1 or 0, micros}
for i, w in ipairs(windows) do
  local enough, more = w.most, w.owed + (room and back == 0 and 1 or 0)
  if more > 0 then
    add(w, more)
    keep(KEYS[i], w)
  end
  if room then
    enough = w.total
  end
  local left, reset = w.total, 0
  for _, slot in ipairs(w.slots) do
    left = left - slot[2]
    if left < enough then
      reset = slot[1] + w.length - now
      break
    end
  end
  table.insert(answer, math.max(w.most - w.total, 0))
  table.insert(answer, reset)
end
return answer
