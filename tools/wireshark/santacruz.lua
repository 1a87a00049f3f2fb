-- SPDX-License-Identifier: GPL-2.0
--
-- Wireshark and tshark: the TCP Santa Cruz option, kind 254 (RFC 6994), ExID 0x5343.
--
--   form       length
--   permitted  4       SYN, SYN-ACK: nothing more
--   data       5       Data.copy:4, ACK.copy:4
--   echo       13      copies:8, ACK.sn:32, Timestamp:32
--   window     15 + w  copies:8, ACK.sn:32, Timestamp:32, Granularity:16, window (w bytes, 1..18)
--
-- Install: copy this file into the folder that Help > About > Folders calls "Personal Lua
-- Plugins". Or, without installing,
--
--   tshark -X lua_script:tools/wireshark/santacruz.lua -r run.pcap -Y santacruz
--   tshark -X lua_script:tools/wireshark/santacruz.lua -r run.pcap -Y santacruz.ack_sn \
--          -T fields -e frame.time_epoch -e santacruz.ack_copy -e santacruz.ack_sn_rel
--   tshark -X lua_script:tools/wireshark/santacruz.lua -r run.pcap -Y 'santacruz.data_copy > 1'
--
-- Fields (several blocks and holes are several values of one field):
--
--   santacruz.form          permitted, data, echo, window, malformed
--   santacruz.length        the option's length byte
--   santacruz.data_copy     transmission of this segment: 1 first, 15 fifteenth or later
--   santacruz.ack_copy      the same of the segment that caused this ACK, 0 none named
--   santacruz.ack_sn        first sequence number of that segment, as on the wire
--   santacruz.ack_sn_rel    ... as tcp.seq counts (relative, if Wireshark knows the start)
--   santacruz.timestamp_us  its arrival, microseconds since a random start, another one in each
--                           connection, modulo 2^32: only differences mean anything
--   santacruz.granularity   bytes of data per bit of the window
--   santacruz.window        the bits, first one leftmost
--   santacruz.blocks        data beyond the ACK that has arrived, "start-end", end excluded
--   santacruz.blocks_rel    ... as tcp.ack counts
--   santacruz.holes         data between the ACK and the last block that is not known to have
--   santacruz.holes_rel         arrived; a bit is 1 only when all of its bytes have
--   santacruz.malformed     why the kernel ignores the option; also an expert information
--
-- The packet list gets a suffix: [SC 1:2 sn=1449 w=0101] is Data.copy 1, ACK.copy 2,
-- ACK.sn_rel 1449 and the window up to its last 1.
--
-- This is a postdissector that reads the bytes of each TCP header. The table "tcp.option"
-- would hand over the option alone: without the ACK that the window counts from, never a
-- truncated one, and taking kind 254 away from Wireshark's own dissector of other ExIDs,
-- which Lua cannot call with the TCP header that it needs for TCP Fast Open.

local KIND_END, KIND_NOP, KIND_EXP = 0, 1, 254
local EXID = 0x5343
local LEN_PERMITTED, LEN_DATA, LEN_ECHO, LEN_WINDOW = 4, 5, 13, 15
local MAX_WINDOW = 18
local MIN_HEADER = 20
local FLAG_SYN, FLAG_ACK = 1, 4 -- bit numbers
local MODULUS = 2 ^ 32

local sc = Proto("santacruz", "TCP Santa Cruz option")

local f = {
	form = ProtoField.string("santacruz.form", "Form"),
	length = ProtoField.uint8("santacruz.length", "Length"),
	data_copy = ProtoField.uint8("santacruz.data_copy", "Data.copy", base.DEC, nil, 0xf0),
	ack_copy = ProtoField.uint8("santacruz.ack_copy", "ACK.copy", base.DEC, nil, 0x0f),
	ack_sn = ProtoField.uint32("santacruz.ack_sn", "ACK.sn"),
	ack_sn_rel = ProtoField.uint32("santacruz.ack_sn_rel", "ACK.sn (relative)"),
	timestamp_us = ProtoField.uint32("santacruz.timestamp_us", "Timestamp [us]"),
	granularity = ProtoField.uint16("santacruz.granularity", "Granularity [bytes]"),
	window = ProtoField.string("santacruz.window", "ACK window"),
	blocks = ProtoField.string("santacruz.blocks", "Arrived"),
	blocks_rel = ProtoField.string("santacruz.blocks_rel", "Arrived (relative)"),
	holes = ProtoField.string("santacruz.holes", "Hole"),
	holes_rel = ProtoField.string("santacruz.holes_rel", "Hole (relative)"),
	malformed = ProtoField.string("santacruz.malformed", "Malformed"),
}
sc.fields = f

local expert_malformed = ProtoExpert.new("santacruz.malformed.expert",
	"Malformed Santa Cruz option", expert.group.MALFORMED, expert.severity.WARN)
sc.experts = { expert_malformed }

local tcp_headers = Field.new("tcp")
local tcp_ack = Field.new("tcp.ack")
local tcp_ack_raw = Field.new("tcp.ack_raw")

local function bit_is_set(byte, number)
	return math.floor(byte / 2 ^ number) % 2 == 1
end

-- Sequence numbers from one to before the other. Not %d: too narrow for 2^32 - 1 in places
local function span(from, to)
	return string.format("%.0f-%.0f", from % MODULUS, to % MODULUS)
end

-- What Wireshark subtracts from the acknowledged sequence numbers of the TCP header at this
-- offset, nil if it shows none. A frame can have several headers (tunnels, ICMP errors).
local function relative_base(raw, offset)
	local acks = { tcp_ack() }

	for _, r in ipairs({ tcp_ack_raw() }) do
		for _, a in ipairs(acks) do
			if r.offset == offset + 8 and a.offset == r.offset and r.value == raw then
				return raw - a.value
			end
		end
	end
	return nil
end

-- What the rest needs to know about the segment
local function read_segment(header, offset)
	local flags = header:range(13, 1):uint()
	local segment = {
		length = math.floor(header:range(12, 1):uint() / 16) * 4,
		syn = bit_is_set(flags, FLAG_SYN),
		options = 0, -- Santa Cruz options so far
	}

	if bit_is_set(flags, FLAG_ACK) then
		segment.ack = header:range(8, 4):uint()
		segment.base = relative_base(segment.ack, offset)
	end
	return segment
end

local function form_of(length)
	if length == LEN_PERMITTED then
		return "permitted"
	elseif length == LEN_DATA then
		return "data"
	elseif length == LEN_ECHO then
		return "echo"
	elseif length > LEN_WINDOW and length <= LEN_WINDOW + MAX_WINDOW then
		return "window"
	end
	return "malformed"
end

-- The reason why the kernel ignores an option, nil if it does not
local function why_malformed(form, option, segment)
	local length = option:range(1, 1):uint()

	if length > option:len() then
		return string.format("truncated: %d bytes, %d left", length, option:len())
	elseif form == "malformed" then
		return string.format("length %d", length)
	elseif segment.syn ~= (form == "permitted") then
		return string.format("length %d %s SYN", length, segment.syn and "with" or "without")
	elseif form == "window" and option:range(13, 2):uint() == 0 then
		return "granularity 0"
	elseif segment.options > 1 then
		return "repeated"
	end
	return nil
end

-- The bits of a range as a string
local function bits_of(range)
	local bits = {}

	for i = 0, range:len() - 1 do
		local byte = range:range(i, 1):uint()

		for n = 7, 0, -1 do
			bits[#bits + 1] = bit_is_set(byte, n) and "1" or "0"
		end
	end
	return table.concat(bits)
end

-- Runs of ones are blocks, the runs of zeros before them holes
local function add_blocks(tree, range, bits, granularity, segment)
	local first = 1

	while first <= #bits do
		local one = bits:sub(first, first) == "1"
		local name = one and "blocks" or "holes"
		local after = bits:find(one and "0" or "1", first, true) or #bits + 1
		local from = segment.ack + (first - 1) * granularity
		local to = segment.ack + (after - 1) * granularity

		tree:add(f[name], range, span(from, to))
		if segment.base then
			tree:add(f[name .. "_rel"], range, span(from - segment.base, to - segment.base))
		end
		first = after
	end
end

local function add_window(tree, option, segment)
	local granularity = option:range(13, 2)
	local window = option:range(LEN_WINDOW)
	local bits = bits_of(window)
	local used = bits:match("^(.*1)") or ""

	tree:add(f.granularity, granularity)
	tree:add(f.window, window, bits)
	if segment.ack and granularity:uint() > 0 then
		add_blocks(tree, window, used, granularity:uint(), segment)
	end
	return " w=" .. (used == "" and "0" or used)
end

local function add_echo(tree, option, segment)
	local range = option:range(5, 4)
	local sn = range:uint()

	tree:add(f.ack_sn, range)
	if segment.base then
		sn = (sn - segment.base) % MODULUS
		tree:add(f.ack_sn_rel, range, sn):set_generated()
	end
	tree:add(f.timestamp_us, option:range(9, 4))
	return option:range(4, 1):uint() % 16 > 0 and string.format(" sn=%.0f", sn) or ""
end

-- The contents of an option of sound length; returns them for the packet list
local function add_contents(tree, option, form, segment)
	local copies = option:range(4, 1)
	local text = string.format("%.0f:%d", math.floor(copies:uint() / 16), copies:uint() % 16)

	tree:add(f.data_copy, copies)
	tree:add(f.ack_copy, copies)
	if form ~= "data" then
		text = text .. add_echo(tree, option, segment)
	end
	if form == "window" then
		text = text .. add_window(tree, option, segment)
	end
	return text
end

-- One option: from its kind to its end, or to that of the header if this comes first
local function add_option(root, option, segment)
	local length = option:range(1, 1):uint()
	local form = length > option:len() and "malformed" or form_of(length)
	local reason = why_malformed(form, option, segment)
	local tree = root:add(sc, option)
	local text = {}

	tree:add(f.form, option:range(1, 1), form)
	tree:add(f.length, option:range(1, 1))
	if form == "permitted" then
		text[1] = form
	elseif form ~= "malformed" then
		text[1] = add_contents(tree, option, form, segment)
	end
	if reason then
		text[#text + 1] = "malformed: " .. reason
		tree:add(f.malformed, option, reason):add_proto_expert_info(expert_malformed,
			"Santa Cruz option: " .. reason)
	end
	text = table.concat(text, " ")
	tree:append_text(": " .. text)
	return " [SC " .. text .. "]"
end

-- All options of a header, which ends early if the capture or the packet does
local function add_options(root, header, segment)
	local pos, stop = MIN_HEADER, math.min(segment.length, header:len())
	local text = ""

	while pos + 1 < stop do
		local kind = header:range(pos, 1):uint()
		local length = header:range(pos + 1, 1):uint()
		local left = stop - pos

		if kind == KIND_END or (kind ~= KIND_NOP and length < 2) then
			break
		elseif kind == KIND_NOP then
			length = 1
		elseif kind == KIND_EXP and math.min(length, left) >= LEN_PERMITTED and
				header:range(pos + 2, 2):uint() == EXID then
			segment.options = segment.options + 1
			text = text .. add_option(root, header:range(pos, math.min(length, left)), segment)
		end
		pos = pos + length
	end
	return text
end

function sc.dissector(_, pinfo, root)
	for _, info in ipairs({ tcp_headers() }) do
		if info.len > MIN_HEADER then
			local header = info.range
			local text = add_options(root, header, read_segment(header, info.offset))

			if text ~= "" then
				pinfo.cols.info:append(text)
			end
		end
	end
end

register_postdissector(sc)
