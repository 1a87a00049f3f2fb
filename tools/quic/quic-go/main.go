// SPDX-License-Identifier: GPL-2.0

// One QUIC flow by quic-go: the words of a flow and the records are flowgen's
// (docs/quic.md). The sender is the client and writes one stream.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"golang.org/x/sys/unix"
)

const (
	protocol = "hetlab"
	// quic-go has no other, and no way to choose
	congestion = "reno"
	pieceBytes = 65536
	// So long the peer is told again that the connection is over
	lingerS = 5
)

type options struct {
	t0, until          float64
	sample             time.Duration
	out                *os.File
	cert, key          string
	role, addr         string
	id, port, mtu      int
	start, duration    float64
	bytes, windowBytes uint64
}

type record map[string]any

type flow struct {
	options
	done atomic.Uint64
	conn atomic.Pointer[quic.Conn]
}

func fail(code int, format string, words ...any) {
	fmt.Fprintf(os.Stderr, "quic-go: "+format+"\n", words...)
	os.Exit(code)
}

// CLOCK_MONOTONIC, in seconds
func now() float64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		fail(1, "clock: %v", err)
	}
	return float64(ts.Sec) + float64(ts.Nsec)*1e-9
}

func sleepUntil(t float64) {
	time.Sleep(time.Duration((t - now()) * 1e9))
}

func number(key, value string) float64 {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || n < 0 {
		fail(2, "%s=%s: a number of at least 0", key, value)
	}
	return n
}

func (o *options) set(key, value string) {
	switch key {
	case "t0":
		o.t0 = number(key, value)
	case "until":
		o.until = number(key, value)
	case "sample_ms":
		o.sample = time.Duration(number(key, value) * 1e6)
	case "out":
		file, err := os.Create(value)
		if err != nil {
			fail(1, "%v", err)
		}
		o.out = file
	case "cert":
		o.cert = value
	case "key":
		o.key = value
	case "role":
		o.role = value
	case "addr":
		o.addr = value
	case "cc":
		if value != congestion {
			fail(2, "cc=%s: quic-go has reno only", value)
		}
	case "id":
		o.id = int(number(key, value))
	case "port":
		o.port = int(number(key, value))
	case "mtu":
		o.mtu = int(number(key, value))
	case "start":
		o.start = number(key, value)
	case "duration":
		o.duration = number(key, value)
	case "bytes":
		o.bytes = uint64(number(key, value))
	case "window":
		o.windowBytes = uint64(number(key, value))
	default:
		fail(2, "%s=%s: no such key", key, value)
	}
}

// Version 4 or 6, without extensions, and UDP
func (o *options) datagramBytes() uint16 {
	if strings.Contains(o.addr, ":") {
		return uint16(o.mtu - 48)
	}
	return uint16(o.mtu - 28)
}

func (o *options) config() *quic.Config {
	return &quic.Config{
		InitialPacketSize:              min(o.datagramBytes(), 1452),
		DisablePathMTUDiscovery:        true,
		MaxIdleTimeout:                 time.Hour,
		HandshakeIdleTimeout:           time.Minute,
		InitialStreamReceiveWindow:     o.windowBytes,
		MaxStreamReceiveWindow:         o.windowBytes,
		InitialConnectionReceiveWindow: o.windowBytes,
		MaxConnectionReceiveWindow:     o.windowBytes,
	}
}

func (f *flow) write(kind string, more record) {
	line := record{"type": kind, "id": f.id, "t": float64(int64((now()-f.t0)*1e6)) / 1e6}
	for key, value := range more {
		line[key] = value
	}
	text, _ := json.Marshal(line)
	if _, err := f.out.Write(append(text, '\n')); err != nil {
		fail(1, "%v", err)
	}
}

// What quic-go tells of the sender's connection, under flowgen's names
func (f *flow) stats() record {
	conn := f.conn.Load()
	if conn == nil {
		return record{"bytes_sent": 0}
	}
	s := conn.ConnectionStats()
	return record{
		"cwnd": float64(s.CongestionWindow) / float64(f.datagramBytes()), "cwnd_bytes": s.CongestionWindow,
		"srtt_us": s.SmoothedRTT.Microseconds(), "min_rtt_us": s.MinRTT.Microseconds(),
		"bytes_sent": s.BytesSent, "bytes_retrans": s.BytesLost, "total_retrans": s.PacketsLost,
	}
}

func (f *flow) sampled() {
	if f.role == "recv" {
		f.write("rsample", record{"bytes_received": f.done.Load()})
	} else {
		f.write("sample", f.stats())
	}
}

func (f *flow) sampleUntil(over <-chan struct{}) {
	for n := 0; f.sample > 0; n++ {
		sleepUntil(f.t0 + float64(n)*f.sample.Seconds())
		select {
		case <-over:
			return
		default:
			f.sampled()
		}
	}
}

func (f *flow) send(ctx context.Context) string {
	socket, err := net.ListenUDP("udp", nil)
	if err != nil {
		fail(1, "socket: %v", err)
	}
	transport := &quic.Transport{Conn: socket}
	to, err := net.ResolveUDPAddr("udp", net.JoinHostPort(f.addr, strconv.Itoa(f.port)))
	if err != nil {
		fail(2, "addr=%s: %v", f.addr, err)
	}
	conn, err := transport.Dial(ctx, to, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}, f.config())
	if err != nil {
		return reason(err)
	}
	f.conn.Store(conn)
	f.write("start", record{"cc": congestion})
	stream, err := conn.OpenUniStream()
	if err != nil {
		return reason(err)
	}
	_ = stream.SetWriteDeadline(deadline(ctx))
	return f.fill(ctx, conn, stream)
}

func deadline(ctx context.Context) time.Time {
	t, _ := ctx.Deadline()
	return t
}

// Writes until the bytes are sent or the time is over, then waits for the peer, which closes when it has all
func (f *flow) fill(ctx context.Context, conn *quic.Conn, stream *quic.SendStream) string {
	piece := make([]byte, pieceBytes)
	for left := f.bytes; f.bytes == 0 || left > 0; {
		size := uint64(len(piece))
		if f.bytes > 0 {
			size = min(size, left)
		}
		n, err := stream.Write(piece[:size])
		left -= uint64(n)
		if err != nil {
			_ = conn.CloseWithError(0, "")
			return reason(err)
		}
	}
	_ = stream.Close()
	select {
	case <-conn.Context().Done():
		return "bytes"
	case <-ctx.Done():
		_ = conn.CloseWithError(0, "")
		return "duration"
	}
}

func reason(err error) string {
	var timeout net.Error
	var closed *quic.ApplicationError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "duration"
	case errors.As(err, &closed):
		return "reset"
	}
	return "error: " + err.Error()
}

func (f *flow) receive(ctx context.Context) string {
	cert, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		fail(2, "%v", err)
	}
	settings := &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{protocol}}
	listener, err := quic.ListenAddr(fmt.Sprintf(":%d", f.port), settings, f.config())
	if err != nil {
		fail(1, "port=%d: %v", f.port, err)
	}
	conn, err := listener.Accept(ctx)
	if err != nil {
		return reason(err)
	}
	stream, err := conn.AcceptUniStream(ctx)
	if err != nil {
		return reason(err)
	}
	piece := make([]byte, pieceBytes)
	for {
		n, err := stream.Read(piece)
		f.done.Add(uint64(n))
		if err == io.EOF {
			_ = conn.CloseWithError(0, "")
			return "fin"
		}
		if err != nil {
			return reason(err)
		}
	}
}

func main() {
	f := &flow{options: options{mtu: 1500, windowBytes: 1 << 26, until: 3600}}
	for _, word := range os.Args[1:] {
		for _, pair := range strings.Split(word, ",") {
			key, value, _ := strings.Cut(pair, "=")
			f.set(key, value)
		}
	}
	if f.out == nil || f.port == 0 || (f.role != "send" && f.role != "recv") {
		fail(2, "usage: quic-go t0=S,out=FILE,role=send|recv,id=N,port=N,... (docs/quic.md)")
	}
	over := make(chan struct{})
	end := f.until
	if f.role == "send" {
		sleepUntil(f.t0 + f.start)
		end = min(end, f.start+f.duration)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration((f.t0+end-now())*1e9))
	defer cancel()
	go f.sampleUntil(over)
	var why string
	more := record{}
	if f.role == "send" {
		why = f.send(ctx)
		more = f.stats()
	} else {
		why = f.receive(ctx)
		more["bytes_received"] = f.done.Load()
	}
	close(over)
	more["role"], more["reason"] = f.role, why
	more["complete"] = why == "bytes" || why == "fin" || (why == "duration" && f.bytes == 0)
	f.write("end", more)
	if why == "fin" {
		sleepUntil(min(f.t0+f.until, now()+lingerS))
	}
	if strings.HasPrefix(why, "error") {
		fail(1, "%s", why)
	}
}
