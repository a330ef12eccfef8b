package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/demo"
)

// TestTheControllerNotifiesOfConsolidation: what the controller does in a cluster in memory reaches a webhook, signed. A process can run one
// controller only, and that of another test may be the first.
func TestTheControllerNotifiesOfConsolidation(t *testing.T) {
	if os.Getenv(alone) == "" {
		test := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		test.Env = append(os.Environ(), alone+"=1")
		if out, err := test.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	judge, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	executed := make(chan struct{})
	var once sync.Once
	var mu sync.Mutex
	nodes := map[string]int{} // by type
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = judge.Verify(body, r.Header)
		}
		var document struct {
			Type string
			Data struct{ NodeCount int }
		}
		if err != nil || json.Unmarshal(body, &document) != nil {
			t.Errorf("%v: %s", err, body)
		}
		mu.Lock()
		defer mu.Unlock()
		nodes[document.Type] += document.Data.NodeCount
		if document.Type == "command.executed" {
			once.Do(func() { close(executed) })
		}
	}))
	defer hook.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{"url": hook.URL, "secret": secret} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := &demoCommand{Pods: 40, Catalog: "generic", Listen: "127.0.0.1:0"}
	scene, _ := demo.SceneNamed("consolidation")
	show := demo.NewProgress(io.Discard, time.Now())
	logged := demo.NewSpotlight(show, scene.Lines)
	cluster, err := c.start(t.Context(), append(scene.Flags, "--notification-url-file="+dir+"/url", "--notification-secret-file="+dir+"/secret"),
		&demo.LogTail{Next: logged}, show.Line)
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
	select {
	case <-executed:
	case <-time.After(time.Minute):
		t.Error("the webhook is not told of a command that was executed")
	}
	if err := cluster.stop(); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if nodes["command.executed"] == 0 || nodes["command.started"] != 0 {
		t.Errorf("the webhook was told of nodes: %v", nodes)
	}
}
