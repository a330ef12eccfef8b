package demo

import (
	"bytes"
	"io"
	"sync"
)

// ReadyLine passes the log of a controller on, and tells when a line says that the controller acts.
type ReadyLine struct {
	next io.Writer
	once sync.Once
	seen chan struct{}
}

// NewReadyLine returns a ReadyLine that writes to next.
func NewReadyLine(next io.Writer) *ReadyLine {
	return &ReadyLine{next: next, seen: make(chan struct{})}
}

// Seen is closed when the controller acts.
func (r *ReadyLine) Seen() <-chan struct{} { return r.seen }

// Write implements io.Writer.
func (r *ReadyLine) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(`"elected leader"`)) {
		r.once.Do(func() { close(r.seen) })
	}
	return r.next.Write(line)
}
