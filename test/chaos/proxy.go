package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// answer is what the proxy does with a write.
type answer string

const (
	passed    answer = "passed on"
	conflict  answer = "409"
	throttled answer = "429"
	failed    answer = "500"
	// lost is a write that is carried out and answered with an error.
	lost answer = "500 after it was done"
	// refused is a write while all are refused, and crashed one that is carried out and never answered, because the controller is killed.
	refused answer = "503"
	crashed answer = "killed after it was done"
)

// longestStall bounds the delay of a watch. What a controller sees may be so old that it has changed it twice since.
const longestStall = 2 * time.Second

// proxy is between the controller and the API server, refuses some of the writes and delays watches.
type proxy struct {
	server  http.Server
	address string
	forward *httputil.ReverseProxy

	mu     sync.Mutex
	random *rand.Rand
	share  float64
	// readOnly is set while all writes are refused.
	readOnly bool
	// left is how many writes are carried out until the controller crashes; 0 for no such write. crash is closed then.
	left    int
	crash   chan struct{}
	answers map[answer]int
	// recent are the writes since the last call of since, without events.
	recent []string
	// stalling decides about watches, of which stall is the share of delayed messages.
	stalling *rand.Rand
	stall    float64
	stalls   int
}

// startProxy serves on a free port of loopback. The nth write always gets the same answer under the same seed.
func startProxy(config *rest.Config, seed uint64, share, stall float64) (*proxy, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("building the transport of the proxy: %w", err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the API server: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the proxy: %w", err)
	}
	p := &proxy{
		address: "http://" + listener.Addr().String(), share: share, stall: stall, answers: map[answer]int{},
		random: rand.New(rand.NewPCG(seed, 1)), stalling: rand.New(rand.NewPCG(seed, 2)),
	}
	p.forward = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // watches
		ErrorLog:      slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		// An API server that is down does not answer.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = http.Server{Handler: p, ErrorLog: p.forward.ErrorLog, ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(listener) }()
	return p, nil
}

// ServeHTTP passes a request on or refuses it.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		p.remember(r)
		p.write(w, r, !ofEvent(r))
	default:
		if r.URL.Query().Get("watch") == "true" {
			w = &lagging{w, p}
		}
		p.forward.ServeHTTP(w, r)
	}
}

// lagging passes on a watch, with delays at times. What follows a delayed message is delayed too.
type lagging struct {
	http.ResponseWriter
	proxy *proxy
}

func (l *lagging) Write(text []byte) (int, error) {
	time.Sleep(l.proxy.lag())
	return l.ResponseWriter.Write(text)
}

// Unwrap lets the proxy flush.
func (l *lagging) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// lag decides about the next message of a watch.
func (p *proxy) lag() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	late, long := p.stalling.Float64(), p.stalling.Float64()
	if late >= p.stall {
		return 0
	}
	p.stalls++
	return time.Duration(long * float64(longestStall))
}

func (p *proxy) write(w http.ResponseWriter, r *http.Request, counts bool) {
	what, crash := p.draw(counts)
	switch what {
	case passed:
		p.forward.ServeHTTP(w, r)
		return
	case crashed:
		p.forward.ServeHTTP(&blind{header: http.Header{}}, r)
		close(crash)
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case lost:
		p.forward.ServeHTTP(&blind{header: http.Header{}}, r)
	default:
		_, _ = io.Copy(io.Discard, r.Body)
	}
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Message: "refused by the chaos proxy", Reason: metav1.StatusReasonInternalError, Code: http.StatusInternalServerError,
	}
	switch what {
	case conflict:
		status.Reason, status.Code = metav1.StatusReasonConflict, http.StatusConflict
	case throttled:
		status.Reason, status.Code = metav1.StatusReasonTooManyRequests, http.StatusTooManyRequests
	case refused:
		status.Reason, status.Code = metav1.StatusReasonServiceUnavailable, http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status)
}

// draw decides about the next write, which counts unless it is an event. It returns what to close when the write was the last one.
func (p *proxy) draw(counts bool) (answer, chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what := passed
	// Two numbers for each write, whatever the share is.
	refuse, kind := p.random.Float64(), p.random.IntN(4)
	if refuse < p.share {
		what = []answer{conflict, throttled, failed, lost}[kind]
	}
	if p.readOnly {
		what = refused
	}
	if counts && p.left > 0 && (what == passed || what == lost) {
		if p.left--; p.left == 0 {
			what = crashed
		}
	}
	p.answers[what]++
	return what, p.crash
}

// refuse begins or ends to refuse all writes.
func (p *proxy) refuse(all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readOnly = all
}

// crashAfter returns what is closed after this many writes, without events, have been carried out from now on. The last one is never
// answered. 0 is for no such write.
func (p *proxy) crashAfter(writes int) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.crash = writes, make(chan struct{})
	return p.crash
}

// ofEvent reports whether a write is of an event. They change no state.
func ofEvent(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/events") || strings.Contains(r.URL.Path, "/events/")
}

// remember records a write, unless it is of an event.
func (p *proxy) remember(r *http.Request) {
	if ofEvent(r) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recent = append(p.recent, r.Method+" "+r.URL.Path)
}

// since returns the writes since its last call, without events.
func (p *proxy) since() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.recent
	p.recent = nil
	return out
}

// behave ends the faults: from now on all requests are forwarded immediately.
func (p *proxy) behave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.share, p.stall = 0, 0
}

// summary is the number of writes by their answers.
func (p *proxy) summary() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := 0
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(p.answers)) {
		all += p.answers[what]
		parts = append(parts, fmt.Sprintf("%d %s", p.answers[what], what))
	}
	return fmt.Sprintf("%d writes: %s; %d stalls of watches", all, strings.Join(parts, ", "), p.stalls)
}

// kubeconfig writes a kubeconfig that leads through the proxy.
func (p *proxy) kubeconfig(path string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["chaos"] = &clientcmdapi.Cluster{Server: p.address}
	config.Contexts["chaos"] = &clientcmdapi.Context{Cluster: "chaos"}
	config.CurrentContext = "chaos"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("writing the kubeconfig of the proxy: %w", err)
	}
	return nil
}

// close ends the proxy and its connections.
func (p *proxy) close() error {
	if err := p.server.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("ending the proxy: %w", err)
	}
	return nil
}

// blind discards an answer.
type blind struct{ header http.Header }

func (b *blind) Header() http.Header         { return b.header }
func (b *blind) Write(p []byte) (int, error) { return len(p), nil }
func (b *blind) WriteHeader(int)             {}
