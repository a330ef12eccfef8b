package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/demo"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/test/commandtest"
)

// printed runs karpenter ledger and returns what it prints.
func printed(t *testing.T, args ...string) (out, notes string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(append([]string{"ledger"}, args...), commandtest.NoEnv, command.Streams{Out: &stdout, Err: &stderr}); code != command.ExitOK {
		t.Fatalf("karpenter ledger %s ends with %d:\n%s", strings.Join(args, " "), code, stderr.String())
	}
	return stdout.String(), stderr.String()
}

// decoded are the records that karpenter ledger prints as JSON.
func decoded(t *testing.T, args ...string) []ledger.Record {
	t.Helper()
	text, _ := printed(t, append(args, "-o", "json")...)
	var out []ledger.Record
	for line := range strings.Lines(text) {
		r, err := ledger.Decode([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// alone is the environment variable that is set in the process of a test that needs one for itself.
const alone = "KARPENTER_TEST_ALONE"

// inOwnProcess runs the test in a process that it has for itself, and is true there: a process can run one controller only, and that of another
// test may be the first.
func inOwnProcess(t *testing.T) bool {
	t.Helper()
	if os.Getenv(alone) != "" {
		return true
	}
	test := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	test.Env = append(os.Environ(), alone+"=1")
	if out, err := test.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

// consolidate performs the scene consolidation in a cluster in memory, whose controller has further flags and writes its log to log.
func consolidate(t *testing.T, log io.Writer, flags ...string) *demoCluster {
	t.Helper()
	c := &demoCommand{Pods: 40, Catalog: "generic", Listen: "127.0.0.1:0"}
	scene, _ := demo.SceneNamed("consolidation")
	show := demo.NewProgress(io.Discard, time.Now())
	logged := demo.NewSpotlight(show, scene.Lines)
	cluster, err := c.start(t.Context(), append(scene.Flags, flags...), &demo.LogTail{Next: io.MultiWriter(log, logged)}, show.Line)
	if err != nil {
		t.Fatal(err)
	}
	play := &demo.Play{
		Settings: demo.Settings{Pods: c.Pods, Catalog: c.Catalog, PriceLabel: kwok.PriceLabel, Manifests: demoManifests()},
		Ctx:      cluster.ctx, Client: cluster.client, Show: show, Logged: logged,
	}
	if _, err := scene.Perform(play); err != nil {
		t.Fatalf("%v\n%s", err, demo.Describe(context.Background(), cluster.client))
	}
	return cluster
}

// TestLedgerTellsWhyNodesWereLaunchedAndRemoved: the controller provisions and consolidates in a cluster in memory. The ledger then says for
// each NodeClaim why it was created, and for each that is gone why it was removed: from the running controller, and from its disk.
func TestLedgerTellsWhyNodesWereLaunchedAndRemoved(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	dir := filepath.Join(t.TempDir(), "ledger")
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	var log bytes.Buffer
	cluster := consolidate(t, &log, "--ledger-dir="+dir, "--console-addr="+address)
	live := decoded(t, "--address", "http://"+address)
	wantReasons(t, "the controller", live)
	wantViews(t, "http://"+address)
	if err := cluster.stop(); err != nil {
		t.Error(err)
	}
	disk := decoded(t, "--dir", dir)
	wantReasons(t, "the disk", disk)
	if len(disk) < len(live) {
		t.Errorf("%d records are on disk, and %d were in memory before", len(disk), len(live))
	}
	wantFilters(t, dir, disk)
}

// wantViews checks that the controller serves the page, and all views of what it manages from its caches.
func wantViews(t *testing.T, address string) {
	t.Helper()
	get := func(path string) []byte {
		response, err := http.Get(address + path) //nolint:noctx // a test on this host
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %s (%v)", path, response.Status, text, err)
		}
		return text
	}
	var views struct {
		Nodes []struct {
			Name, NodePool string
			PricePerHour   *float64
			Requested      struct{ Pods int }
		}
		Commands []struct{ State string }
		Pools    []struct{ Name string }
		Series   []any
		Moments  []any
		Why      *struct{ Reason string }
		Pods     []any
	}
	for _, name := range []string{"fleet", "pending", "moves", "cost", "pools", "timeline"} {
		if err := json.Unmarshal(get("/console/api/v1/"+name), &views); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(views.Nodes) == 0 || len(views.Series) == 0 || len(views.Moments) == 0 || len(views.Pools) == 0 || views.Pools[0].Name == "" {
		t.Fatalf("%+v", views)
	}
	pods, used := 0, ""
	for _, n := range views.Nodes {
		pods += n.Requested.Pods
		if n.Requested.Pods > 0 {
			used = n.Name // others may be about to go
		}
		if n.NodePool == "" || n.PricePerHour == nil {
			t.Errorf("node %+v", n)
		}
	}
	if pods == 0 || !slices.ContainsFunc(views.Commands, func(c struct{ State string }) bool { return c.State == "succeeded" }) {
		t.Errorf("%d pods, commands %+v", pods, views.Commands)
	}
	if err := json.Unmarshal(get("/console/api/v1/node/"+used), &views); err != nil || views.Why == nil || views.Why.Reason == "" || len(views.Pods) == 0 {
		t.Errorf("a node: %v, why %v, %d pods", err, views.Why, len(views.Pods))
	}
	if text := get("/console/api/v1/manifests"); !bytes.Contains(text, []byte("kind: NodePool")) || !bytes.Contains(text, []byte("kind: KWOKNodeClass")) {
		t.Errorf("manifests: %s", text)
	}
	if page := get("/console/"); !bytes.Contains(page, []byte("<title>")) {
		t.Errorf("the page: %s", page)
	}
}

// wantReasons checks that records explain the life of every NodeClaim.
func wantReasons(t *testing.T, where string, records []ledger.Record) {
	t.Helper()
	if len(records) == 0 || records[0].Start == nil || records[0].Start.Settings["cloud-provider"] != "kwok" {
		t.Fatalf("%s does not begin with the start", where)
	}
	created, launched, planned := map[string]string{}, map[string]*float64{}, map[string]string{}
	disrupted, commands, deleted, savings := map[string]string{}, map[string]ledger.Command{}, 0, 0
	for _, r := range records {
		switch {
		case r.Provisioning != nil:
			for _, claim := range r.Provisioning.NodeClaims {
				planned[claim.Name] = claim.Pods.First[0]
			}
		case r.Disruption != nil:
			for _, command := range r.Disruption.Commands {
				commands[command.ID] = command
			}
		case r.Saving != nil && r.Saving.Event == ledger.SavingClaimed && r.Saving.PerHour != nil && *r.Saving.PerHour > 0:
			savings++
		case r.NodeClaim != nil:
			switch r.NodeClaim.Event {
			case ledger.Created:
				created[r.NodeClaim.Name] = r.NodeClaim.Reason
			case ledger.Launched:
				launched[r.NodeClaim.Name] = r.NodeClaim.Price
			case ledger.Disrupted:
				disrupted[r.NodeClaim.Name] = r.NodeClaim.Command
			case ledger.Deleted:
				deleted++
				if id := disrupted[r.NodeClaim.Name]; commands[id].Reason == "" || commands[id].SavingsPerHour <= 0 {
					t.Errorf("%s does not say why %s was removed", where, r.NodeClaim.Name)
				}
			}
		}
	}
	if deleted == 0 || savings == 0 || len(created) == 0 {
		t.Errorf("%s has %d removed NodeClaims and %d claims of savings", where, deleted, savings)
	}
	for name, reason := range created {
		if reason == "provisioned" && planned[name] == "" {
			t.Errorf("%s does not say which pods %s was launched for", where, name)
		}
		if launched[name] == nil {
			t.Errorf("%s does not say what %s costs", where, name)
		}
	}
}

// wantFilters checks what the filters of the command select.
func wantFilters(t *testing.T, dir string, all []ledger.Record) {
	t.Helper()
	var gone ledger.NodeClaimState
	for _, r := range all {
		if r.NodeClaim != nil && r.NodeClaim.Event == ledger.Deleted {
			gone = r.NodeClaim.NodeClaimState
		}
	}
	table, notes := printed(t, "--dir", dir, "--node", gone.Node, "--kind", "nodeclaim,command")
	for _, want := range []string{gone.Name + " created, reason provisioned, for default/", gone.Name + " launched, " + gone.InstanceType, "disrupted, reason", "deleted"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table of node %s lacks %q:\n%s", gone.Node, want, table)
		}
	}
	if !regexp.MustCompile(`the oldest record is number 1 of 20\d\d-`).MatchString(notes) {
		t.Errorf("it does not say where the records begin: %s", notes)
	}
	if got := decoded(t, "--dir", dir, "--nodeclaim", gone.Name, "--kind", "nodeclaim"); len(got) < 5 {
		t.Errorf("the life of %s has %d events", gone.Name, len(got))
	}
	if got := decoded(t, "--dir", dir, "--nodepool", "other", "--kind", "nodeclaim,provisioning"); len(got) != 0 {
		t.Errorf("%d records mention a NodePool that does not exist", len(got))
	}
	if got := decoded(t, "--dir", dir, "--since", "2999-01-01T00:00:00Z"); len(got) != 0 {
		t.Errorf("%d records are of the future", len(got))
	}
	var h ledger.History
	for _, r := range all {
		h.Apply(r)
	}
	if left := h.NodeClaims(); !h.Complete || len(left) == 0 || left[0].Price == nil || left[0].Allocatable["cpu"] == "" {
		t.Errorf("the fleet in the end is not known: complete %v, %+v", h.Complete, left)
	}
	if last := decoded(t, "--dir", dir, "--limit", "2"); len(last) != 2 || last[1].Seq != all[len(all)-1].Seq {
		t.Errorf("the last two records are %d records", len(last))
	}
}
