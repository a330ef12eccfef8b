package browser

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/karpenter-anew/karpenter/internal/view"
	"github.com/karpenter-anew/karpenter/test/browser/fixture"
)

func TestEachViewShowsItsDocument(t *testing.T) {
	fleet := fixture.New(400, 8000)
	server := serve(t, fleet)
	name := blocked(t, fleet)
	for hash, texts := range map[string][]string{
		"#/fleet":            {"400", "$247.78/h", "5 nodes of unknown price", "14 pods", "Memory requested"},
		"#/fleet?show=table": {"Instance type", "100 of 400 rows are shown", "us-east-1"},
		"#/node":             {"Instance type", "50 of 400 rows"},
		"#/node/" + name:     {"Why it is here", "Reason: provisioned", "Why it is not removed", "wanted, but blocked", "checkout/api", "Wait until more pods of the budget are healthy", "Ready", "NodeClaim launched", "Deployment"},
		"#/pending":          {"14 pods in 3 groups", "fits nowhere", "nearest", "LimitsExceeded", "Raise the limit of the NodePool", "m7i.2xlarge"},
		"#/moves":            {"proposed", "waiting", "under way", "succeeded", "did not become ready", "10%", "Remaining", "$0.7914"},
		"#/cost":             {"Price over time", "Proven least", "gap of the packing 1.7 %", "Underutilized", "Deployment checkout/api"},
		"#/pools":            {"launches no nodes", "nvidia.com/gpu", "InsufficientInstanceCapacity", "NodeClassReady", "5 more are not listed"},
		"#/edit":             {"Open those of the cluster", "nothing is applied"},
		"#/history":          {"Decisions around this moment", "Earlier decision", "1 gap without records", "400"},
	} {
		t.Run(strings.Trim(hash, "#/"), func(t *testing.T) {
			p := open(t, server.URL)
			p.visit(hash)
			p.shows("main", texts...)
			p.shows("header", "fixture")
			p.until("document.querySelector('.c-live')")
		})
	}
}

func TestWhatIsNotKnownIsShown(t *testing.T) {
	p := open(t, serve(t, fixture.New(40, 400)).URL)
	at := fixture.Start().Add(-time.Hour).Format(time.RFC3339)
	for _, v := range []string{"fleet", "pending", "moves", "cost", "pools", "history"} {
		p.visit("#/" + v + "?at=" + at)
		p.shows(".limits", "Not known", "The ledger does not record the pods of nodes")
	}
	// Links keep the moment.
	p.visit("#/fleet?at=" + at)
	p.shows("main", "14 pods")
	p.run(chromedp.Click(`.totals a`))
	p.until("location.hash === '#/pending?at=" + at + "'")
	p.visit("#/moves?at=" + at)
	p.shows("main", "Proposed unknown")
	p.shows(".banner", "This is the past: 2026-03-02 08:30:00 UTC", "Back to now")
}

func TestALinkHasTheStateOfAView(t *testing.T) {
	server := serve(t, fixture.New(400, 8000))
	p := open(t, server.URL)
	p.visit("#/fleet")
	p.until("document.querySelector('select')")
	p.run(chromedp.SendKeys(`//label[contains(., "Color")]/select`, "zone"))
	p.run(chromedp.SendKeys("#filter", "state=blocked"))
	p.until("location.hash.includes('filter=state%3Dblocked') && location.hash.includes('color=zone')")
	link := p.hash()
	shown := oneLine(p.text(".found"))
	if !strings.HasPrefix(shown, "31 of 400 nodes") {
		t.Errorf("the filter shows %q", shown)
	}
	other := open(t, server.URL)
	other.visit(link)
	other.shows(".found", shown)
	other.shows(".legend", "us-east-1a")
	// The other views keep their state for the way back.
	other.press("4")
	other.shows("main", "Commands")
	other.press("1")
	other.shows(".found", shown)
}

func TestEditShowsTheDiffLive(t *testing.T) {
	p := open(t, serve(t, fixture.New(400, 8000)).URL)
	p.allow(`status of 400`)
	p.visit("#/edit")
	p.click("Open those of the cluster")
	p.until("document.querySelector('textarea').value.includes('kind: NodePool')")
	p.shows(".output", "No object of the text differs", "Without the edit")
	p.run(chromedp.SendKeys("textarea", "# fewer types\n"))
	p.shows(".output", "changes NodePool general", "drifts 37 nodes", "moves 412 pods", "6h 4m", "−$4.1037/h", "2 nodes blocked", "PDBBlocked", "Deployment checkout/api",
		"Need approval", "production all disruption has to be approved")
	p.click("Link with this text")
	p.until("location.hash.includes('text=')")
	link := p.hash()
	p.click("Clear")
	p.run(chromedp.SendKeys("textarea", "nonsense"))
	p.shows(".output", "the text has no object", "Change what was asked for")
	p.visit(link)
	p.until("document.querySelector('textarea')?.value.includes('# fewer types')")
}

func TestHistoryMovesEveryView(t *testing.T) {
	p := open(t, serve(t, fixture.New(400, 8000)).URL)
	p.visit("#/history")
	p.shows("main", "2026-03-02 09:30:00 UTC", "Fleet at 2026-03-02 09:30:00 UTC", "$247.78/h")
	p.click("Earlier decision")
	p.until("location.hash.includes('at=2026-03-02T09:')")
	p.visit("#/history?at=2026-03-02T05:20:00Z")
	p.shows("main", "No controller kept records between 2026-03-02 05:10:00 UTC")
	p.until("Number(document.querySelector('.total .big')?.innerText) > 0 && Number(document.querySelector('.total .big').innerText) < 400")
	p.run(chromedp.Focus("input[type=range]"))
	p.press(kb.ArrowRight)
	p.until("location.hash.includes('at=2026-03-02T05:20:01Z')")
	p.click("Play")
	p.until("location.hash.match(/at=2026-03-02T05:[3-5]/)")
	p.click("Pause")
	p.press("5")
	p.shows(".banner", "This is the past: 2026-03-02 05:")
	p.shows("main", "Unknown: the ledger does not record the pods of nodes")
	p.press("n")
	p.until("!location.hash.includes('at=')")
	p.shows("main", "Proven least $")
}

func TestTheKeyboardReachesEverything(t *testing.T) {
	p := open(t, serve(t, fixture.New(400, 8000)).URL)
	p.visit("#/fleet")
	p.until("document.querySelector('.map canvas')")
	p.press(kb.Tab)
	if got := p.focused(); got != "skip" {
		t.Errorf("the first tab stop is %q, want the skip link", got)
	}
	p.press(kb.Enter)
	if got := p.focused(); got != "main" || !strings.HasPrefix(p.hash(), "#/fleet") {
		t.Errorf("the skip link leads to %q at %s", got, p.hash())
	}
	p.press("/")
	if got := p.focused(); got != "filter" {
		t.Errorf("/ leads to %q", got)
	}
	p.press("g", "e", "n", "1", kb.Escape) // a figure in a field is text
	p.until("location.hash === '#/fleet?filter=gen1'")
	p.press("/")
	p.press(kb.Backspace)
	p.shows(".found", "170 of 400")
	// From the filter, the tab key comes to the tiles, which are one stop.
	p.until("document.querySelectorAll('.map').length === 1")
	for range 20 {
		if p.focused() == "map" {
			break
		}
		p.press(kb.Tab)
	}
	first := p.text(".detail")
	p.press(kb.ArrowRight, kb.ArrowDown)
	p.until("document.querySelector('.map').getAttribute('aria-activedescendant') === 'tile'")
	if second := p.text(".detail"); first == second || !strings.Contains(second, "CPU") {
		t.Errorf("the arrow keys show %q after %q", second, first)
	}
	position := eval[string](p, "document.getElementById('tile').getAttribute('aria-posinset') + ' ' + document.getElementById('tile').getAttribute('aria-label')")
	if position == "" || strings.HasPrefix(position, "1 ") {
		t.Errorf("the tile for screen readers is %q", position)
	}
	p.press(kb.Enter)
	p.shows("main", "Why it is not removed")
	for i, v := range views() {
		p.press(string(rune('1' + i)))
		p.until("location.hash.startsWith('#/" + v + "') && document.querySelector('nav [aria-current]').getAttribute('href').startsWith('#/" + v + "')")
	}
	p.press("?")
	p.until("document.querySelector('dialog').open")
	p.press(kb.Escape)
	p.until("!document.querySelector('dialog').open")
}

func TestTheMouseOpensANode(t *testing.T) {
	p := open(t, serve(t, fixture.New(40, 400)).URL)
	p.visit("#/fleet")
	p.until("document.querySelector('.map canvas')?.height > 50")
	at := eval[struct{ X, Y float64 }](p, "(({x, y}) => ({X: x + 8, Y: y + 34}))(document.querySelector('.map canvas').getBoundingClientRect())")
	p.run(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X, at.Y))
	p.shows(".detail", "general-")
	p.run(chromedp.MouseClickXY(at.X, at.Y))
	p.until("location.hash.startsWith('#/node/general-')")
}

func TestFailuresSayWhatToDo(t *testing.T) {
	fleet := fixture.New(40, 400)
	gate := &gate{next: fixture.Handler(fleet)}
	server := httptest.NewServer(gate)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	p := open(t, server.URL)
	p.allow(`status of 404|net::ERR_`)
	p.visit("#/node/none-such")
	p.shows(".failure", "none-such", "Look for it in Fleet")
	p.visit("#/fleet")
	p.shows("header", "live")

	gate.closed.Store(true)
	server.CloseClientConnections()
	p.shows(".banner.lost", "The connection to the server is lost", "may be out of date")
	p.shows("header", "connection lost")
	p.shows("main", "Memory requested") // what was read stays
	p.press("4")
	p.shows(".failure", "The server cannot be reached", "still runs")

	fleet.Change(0, view.NotReady)
	gate.closed.Store(false)
	p.shows("header", "live", "revision 2")
	p.until("!document.querySelector('.banner.lost') && !document.querySelector('.failure')")
	p.shows("main", "under way")
}
