package command

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// UntilSignal returns a context that ends with the first SIGTERM or SIGINT. The second one ends the process, until the function is called: it ends the
// context, too.
func UntilSignal(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	over := make(chan struct{})
	go func() {
		for first := true; ; first = false {
			select {
			case <-signals:
			case <-over:
				return
			}
			if !first {
				os.Exit(ExitFailed)
			}
			cancel()
		}
	}()
	return ctx, sync.OnceFunc(func() {
		signal.Stop(signals)
		close(over)
		cancel()
	})
}
