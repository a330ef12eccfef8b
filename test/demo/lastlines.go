package main

import (
	"bytes"
	"io"
	"slices"
	"sync"
)

// keptLines is how many log lines are kept for a failure report.
const keptLines = 2000

// lastLines forwards what is written to it, line by line, and keeps the last lines.
type lastLines struct {
	mu      sync.Mutex
	next    io.Writer
	partial []byte
	lines   [][]byte
}

func (l *lastLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, p...)
	for {
		line, rest, ok := bytes.Cut(l.partial, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		l.lines = append(l.lines, bytes.Clone(line))
		l.partial = rest
		if len(l.lines) > 2*keptLines {
			l.lines = slices.Clone(l.lines[keptLines:])
		}
		if _, err := l.next.Write(append(bytes.Clone(line), '\n')); err != nil {
			return len(p), err
		}
	}
}

// tail returns the last n lines.
func (l *lastLines) tail(n int) [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines[max(0, len(l.lines)-n):])
}

// contains reports whether one of the kept lines contains a text.
func (l *lastLines) contains(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.lines, func(line []byte) bool { return bytes.Contains(line, []byte(text)) })
}
