// Package recovery keeps a panic in one pass of a loop from ending the process, and finds the objects that cause it: the loop
// recovers, waits, and leaves objects out until its passes succeed again.
package recovery

import (
	"bytes"
	"fmt"
	"runtime/debug"
)

// Panic is a panic that was recovered from.
type Panic struct {
	// Value is the argument of panic.
	Value any
	// Stack is the stack of the goroutine from the panic outwards, at most maxStack bytes.
	Stack string
}

// maxStack is the length of a stack in bytes: what one log line should hold.
const maxStack = 8 << 10

// Error describes the panic without the stack.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Call calls f and returns its error; when f panics, the error is a *Panic.
func Call(f func() error) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *Panic:
			err = v // of another goroutine, with the stack of that one
		default:
			err = &Panic{Value: v, Stack: stack()}
		}
	}()
	return f()
}

// Rethrow panics with the first *Panic among the errors, to continue a panic of a goroutine in the one that waited for it.
func Rethrow(errs []error) {
	for _, err := range errs {
		if p, ok := err.(*Panic); ok { //nolint:errorlint // a wrapped one has been handled
			panic(p)
		}
	}
}

// stack is the stack of a goroutine that panics, without the frames of the recovery.
func stack() string {
	text := debug.Stack()
	if i := bytes.Index(text, []byte("\npanic(")); i >= 0 {
		text = text[i+1:]
	}
	return string(text[:min(len(text), maxStack)])
}
