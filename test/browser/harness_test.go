package browser

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/karpenter-anew/karpenter/test/browser/fixture"
)

// screenshots rewrites docs/images/console-*.png.
var screenshots = flag.Bool("screenshots", false, "rewrite the images of the documentation")

// chromium is the context of the browser that all tests share.
var chromium context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	path := ""
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && name != "" {
			path = found
			break
		}
	}
	if path == "" {
		fmt.Fprintln(os.Stderr, "no Chromium was found: install it (on Debian: apt-get install chromium), or set CHROMIUM to its path")
		os.Exit(1)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WindowSize(1280, 800), chromedp.Flag("disable-gpu", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // the sandbox of Chromium refuses to run as root
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	var done context.CancelFunc
	chromium, done = chromedp.NewContext(allocator)
	if err := chromedp.Do(chromium); err != nil {
		fmt.Fprintln(os.Stderr, "Chromium does not start:", err)
		os.Exit(1)
	}
	code := m.Run()
	done()
	stop()
	os.Exit(code)
}

// page is a tab of the browser.
type page struct {
	*testing.T

	tab  context.Context
	base string
	// visits is the number of documents that were opened, which distinguishes their URLs.
	visits int

	mu       sync.Mutex
	problems []string
	allowed  *regexp.Regexp
}

// serve starts a server with a fleet.
func serve(t *testing.T, fleet *fixture.Fleet) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(fixture.Handler(fleet))
	t.Cleanup(func() {
		server.CloseClientConnections() // streams of changes would be waited for
		server.Close()
	})
	return server
}

// open opens a tab. The test fails when the page breaks its content security policy, reports an error, or asks another host.
func open(t *testing.T, base string) *page {
	t.Helper()
	tab, closeTab := chromedp.NewContext(chromium)
	tab, cancel := context.WithTimeout(tab, 3*time.Minute)
	p := &page{T: t, tab: tab, base: base}
	host, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		closeTab()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, problem := range p.problems {
			if p.allowed == nil || !p.allowed.MatchString(problem) {
				t.Errorf("the page reports: %s", problem)
			}
		}
	})
	if err := chromedp.Listen(tab, func(event any) { p.watch(event, host.Host) }); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{enable(tab, log.Enable), enable(tab, runtime.Enable), enable(tab, network.Enable)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p.scheme("light")
	p.size(1280, 800)
	return p
}

func enable[P any](tab context.Context, command cdp.Command[P, cdp.Empty]) error {
	var none P
	_, err := chromedp.Call(tab, command, none)
	return err
}

func (p *page) watch(event any, host string) {
	problem := ""
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			for _, a := range e.Args {
				problem += fmt.Sprintf("console %s: %s %s ", e.Type, a.Value, a.Description)
			}
		}
	case *runtime.EventExceptionThrown:
		problem = fmt.Sprintf("exception: %v", e.ExceptionDetails)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			problem = fmt.Sprintf("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err != nil || u.Host != host && u.Scheme != "about" && u.Scheme != "data" && u.Scheme != "blob" {
			problem = "request to another host: " + e.Request.URL
		}
	}
	if problem != "" {
		p.mu.Lock()
		p.problems = append(p.problems, problem)
		p.mu.Unlock()
	}
}

// allow lets the browser report what matches, in a test of failures.
func (p *page) allow(pattern string) { p.allowed = regexp.MustCompile(pattern) }

func (p *page) run(actions ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.tab, actions...); err != nil {
		p.Fatal(err)
	}
}

func (p *page) scheme(name string) {
	p.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}
	if _, err := chromedp.Call(p.tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		p.Fatal(err)
	}
}

func (p *page) size(width, height int64) {
	p.Helper()
	p.run(chromedp.EmulateViewport(width, height))
}

// visit opens a view as from a link, in a new document.
func (p *page) visit(hash string) {
	p.Helper()
	p.visits++
	p.run(chromedp.Navigate(fmt.Sprintf("%s/?%d%s", p.base, p.visits, hash)))
}

// until waits until an expression is true.
func (p *page) until(expression string) {
	p.Helper()
	// An error is tolerated until then: the document may be about to be replaced.
	for end := time.Now().Add(20 * time.Second); ; {
		ok, err := chromedp.Run(p.tab, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if ok && err == nil {
			return
		}
		if time.Now().After(end) {
			p.Fatalf("waiting for %s: %v; the page shows:\n%s", expression, err, p.text("body"))
		}
		p.run(chromedp.Sleep(10 * time.Millisecond))
	}
}

// shows waits until an element has all texts.
func (p *page) shows(selector string, texts ...string) {
	p.Helper()
	for _, text := range texts {
		p.until(fmt.Sprintf("document.querySelector(%q)?.innerText.replace(/\\s+/g, ' ').includes(%q)", selector, text))
	}
}

func (p *page) text(selector string) string {
	text, err := chromedp.Run(p.tab, chromedp.Evaluate[string](fmt.Sprintf("document.querySelector(%q)?.innerText || ''", selector)))
	if err != nil {
		return err.Error()
	}
	return text
}

func eval[T any](p *page, expression string) T {
	p.Helper()
	value, err := chromedp.Run(p.tab, chromedp.Evaluate[T](expression))
	if err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
	return value
}

// click clicks the button with a text.
func (p *page) click(text string) {
	p.Helper()
	p.run(chromedp.Click(fmt.Sprintf("//button[text()=%q]", text)))
}

func (p *page) hash() string {
	p.Helper()
	return eval[string](p, "location.hash")
}

// press presses keys one after another, as a person does.
func (p *page) press(keys ...string) {
	p.Helper()
	for _, key := range keys {
		if len(key) > 1 || key < " " || key > "~" {
			p.run(chromedp.KeyEvent(key))
			continue
		}
		// One event for the key and its text: the page may prevent the text.
		for _, e := range []input.DispatchKeyEventParams{
			{Type: input.DispatchKeyEventTypeKeyDown, Key: key, Text: key, UnmodifiedText: key}, {Type: input.DispatchKeyEventTypeKeyUp, Key: key},
		} {
			if _, err := chromedp.Call(p.tab, input.DispatchKeyEvent, e); err != nil {
				p.Fatal(err)
			}
		}
	}
}

// focused describes the element that has the focus.
func (p *page) focused() string {
	p.Helper()
	return eval[string](p, "(document.activeElement.id || document.activeElement.className || document.activeElement.tagName) + ''")
}

func views() []string {
	return []string{"fleet", "node", "pending", "moves", "cost", "pools", "edit", "history"}
}

// blocked is the number of the first node of a fleet that is blocked.
func blocked(t *testing.T, f *fixture.Fleet) string {
	t.Helper()
	fleet, err := f.Fleet(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range fleet.Nodes {
		if n.State == "blocked" {
			return n.Name
		}
	}
	t.Fatal("the fleet has no blocked node")
	return ""
}

// gate is a server that can be out of reach: then it closes connections without an answer.
type gate struct {
	next   http.Handler
	closed atomic.Bool
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.closed.Load() {
		panic(http.ErrAbortHandler)
	}
	g.next.ServeHTTP(w, r)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
