package operator

import (
	"fmt"

	"k8s.io/client-go/kubernetes"

	"github.com/karpenter-anew/karpenter/internal/console"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/operator/internal/edits"
	"github.com/karpenter-anew/karpenter/internal/view"
	"github.com/karpenter-anew/karpenter/web"
)

// serveConsole serves the console, if an address is set. On the loopback interface it needs no authentication: who can connect there can
// read the memory of the process, or has the permission to forward its ports. Elsewhere it is served with TLS, and the API server
// authenticates and authorizes each request.
//
// The views are computed while a client asks, from the caches of the process.
func (a assembly) serveConsole(d *decisions, state *liveState, commands commander) (*endpoints, error) {
	e := &endpoints{log: a.process.Log, closing: make(chan struct{})}
	address := a.options.Serving.ConsoleAddr
	if address == "" {
		return e, nil
	}
	var records ledger.Records
	if kept := d.inMemory(); kept != nil {
		records = ledger.Memory{Ledger: kept}
	}
	compare, err := edits.New(a.process.Provider, state.state.Cloud, state)
	if err != nil {
		return nil, err
	}
	views := view.New(state, records, a.clock).FollowCommands(openCommands{commands, a.leading}).CompareEdits(compare.Compare)
	handler := console.Handler(console.Sources{
		Prefix: console.Prefix, Records: records, Leading: a.leading, Clock: a.clock, Closing: e.closing, Files: web.Files(),
		Views: view.DocumentsOf(views), NotFound: view.ErrNotFound, Invalid: view.ErrInvalid, NotReady: errNotReady,
		Failed: func(err error) { a.process.Log.Error("answering a request to the console failed", logfield.Error(err)) },
	})
	listener, err := a.listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serving the console: %w; choose another address with --console-addr (CONSOLE_ADDR)", err)
	}
	if console.OnLoopback(address) {
		handler = console.LocalOnly(handler)
	} else {
		client, err := kubernetes.NewForConfigAndClient(a.manager.GetConfig(), a.manager.GetHTTPClient())
		if err != nil {
			_ = listener.Close()
			return nil, fmt.Errorf("preparing the authentication of the console: %w", err)
		}
		guard := authorization{client: client, clock: a.clock, log: a.process.Log}
		if handler, listener, err = guard.protect("the console", handler, listener); err != nil {
			_ = listener.Close()
			return nil, err
		}
	}
	a.process.Log.Info("serving the console", logfield.Address(listener.Addr().String()))
	e.start(listener, handler)
	return e, nil
}

// leading reports whether the process is the leader.
func (a assembly) leading() bool {
	select {
	case <-a.manager.Elected():
		return true
	default:
		return false
	}
}

// inMemory is the ledger if it keeps records in memory.
func (d *decisions) inMemory() *ledger.Ledger {
	if d == nil || d.options.Memory == 0 {
		return nil
	}
	return d.records
}
