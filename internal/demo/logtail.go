package demo

import (
	"bytes"
	"io"
	"slices"
	"sync"
)

// keptLines is how many log lines are kept for a failure report.
const keptLines = 2000

// LogTail forwards what is written to it, line by line, and keeps the last lines.
type LogTail struct {
	mu sync.Mutex
	// Next gets whole lines.
	Next    io.Writer
	partial []byte
	lines   [][]byte
}

func (l *LogTail) Write(p []byte) (int, error) {
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
		if _, err := l.Next.Write(append(bytes.Clone(line), '\n')); err != nil {
			return len(p), err
		}
	}
}

// Tail returns the last n lines.
func (l *LogTail) Tail(n int) [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines[max(0, len(l.lines)-n):])
}

// Contains reports whether one of the kept lines contains a text.
func (l *LogTail) Contains(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.lines, func(line []byte) bool { return bytes.Contains(line, []byte(text)) })
}
