package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/karpenter-anew/karpenter/internal/view"
	"github.com/karpenter-anew/karpenter/test/browser/fixture"
)

// module evaluates an expression about a module of the page, as m.
func module[T any](p *page, name, expression string) T {
	p.Helper()
	value, err := chromedp.Run(p.tab, chromedp.Evaluate[T](fmt.Sprintf("import('./js/%s.js').then((m) => %s)", name, expression), chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%s: %s: %v", name, expression, err)
	}
	return value
}

func TestFiltersFindTheNodesThatMatch(t *testing.T) {
	fleet := fixture.New(400, 8000)
	document, err := fleet.Fleet(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, serve(t, fleet).URL)
	p.visit("#/edit")
	for filter, matches := range map[string]func(view.Node) bool{
		"":                func(view.Node) bool { return true },
		"GENERAL":         func(n view.Node) bool { return strings.Contains(n.Name, "general") || n.NodePool == "general" },
		"zone=us-east-1a": func(n view.Node) bool { return n.Zone == "us-east-1a" },
		"zone:east state:ready": func(n view.Node) bool {
			return n.Zone != "" && n.State != view.Blocked && strings.Contains(string(n.State), "ready")
		},
		"-state=ready":        func(n view.Node) bool { return n.State != view.Ready },
		"obstacle=pdbblocked": func(n view.Node) bool { return n.Obstacle == "PDBBlocked" },
		"cpu>50":              func(n view.Node) bool { return 2*n.Requested.CPU > n.Allocatable.CPU },
		"memory<40":           func(n view.Node) bool { return 10*n.Requested.Memory < 4*n.Allocatable.Memory },
		"price>0.5":           func(n view.Node) bool { return n.PricePerHour != nil && *n.PricePerHour > 0.5 },
		"age>24":              func(n view.Node) bool { return document.At.Sub(n.Created) > 24*time.Hour },
		"example.com/team=ml type:m7i": func(n view.Node) bool {
			return n.Labels["example.com/team"] == "ml" && strings.Contains(n.InstanceType, "m7i")
		},
		"cpu>many": func(view.Node) bool { return false },
	} {
		want := 0
		for _, n := range document.Nodes {
			if matches(n) {
				want++
			}
		}
		got := module[int](p, "fleetdata", fmt.Sprintf("(%s).nodes.filter(m.matcher(%q, %q)).length", encoded, filter, document.At.Format(time.RFC3339)))
		if got != want {
			t.Errorf("%q matches %d nodes, want %d", filter, got, want)
		}
	}
}

func TestValuesAreShownWithUnits(t *testing.T) {
	p := open(t, serve(t, fixture.New(4, 40)).URL)
	p.visit("#/edit")
	for expression, want := range map[string]string{
		"m.perHour(0.0464)": "$0.0464/h", "m.perHour(1234.5)": "$1,234.50/h", "m.perHour(-4.1037)": "−$4.1037/h", "m.perHour(null)": "unknown",
		"m.cores(15890)": "15.9 cores", "m.cores(1000)": "1.0 core", "m.cores(null)": "unknown", "m.bytes(512)": "512 B", "m.bytes(31.4 * 2 ** 30)": "31.4 GiB", "m.bytes(2 ** 50)": "1.0 PiB",
		"m.span(0)": "0s", "m.span(61)": "1m 1s", "m.span(3600)": "1h", "m.span(93784)": "1d 2h", "m.span(-5)": "−5s", "m.span(null)": "unknown",
		"m.percent(0.586)": "59 %", "m.percent(null)": "unknown", "String(m.share(5, 0))": "null", "m.words('NodePoolBudgetExhausted')": "Node pool budget exhausted", "m.words('PDBBlocked')": "PDB blocked",
	} {
		if got := module[string](p, "format", expression); got != want {
			t.Errorf("%s is %q, want %q", expression, got, want)
		}
	}
	for text, want := range map[string]float64{"3400": 3400, "250m": 0.25, "64Gi": 64 << 30, "1e3": 1000, "2k": 2000} {
		if got := module[float64](p, "pools", fmt.Sprintf("m.quantity(%q)", text)); got != want {
			t.Errorf("the quantity %s is %v, want %v", text, got, want)
		}
	}
}

// TestAViewThatFailsLeavesThePage serves a document that lacks a list.
func TestAViewThatFailsLeavesThePage(t *testing.T) {
	next := fixture.Handler(fixture.New(40, 400))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/pools" {
			_, _ = w.Write([]byte(`{"version":"v2","kind":"Pools","at":"2026-03-02T09:30:00Z","origin":"other","unknown":[]}`))
			return
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	p := open(t, server.URL)
	p.allow(`console error`)
	p.visit("#/pools")
	p.shows(".failure", "This view cannot be shown", "Reload the page")
	p.press("1")
	p.shows("main", "Memory requested")
}
