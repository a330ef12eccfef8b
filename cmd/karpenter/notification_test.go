package main

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// TestTheControllerNotifiesOfConsolidation: what the controller does in a cluster in memory reaches a webhook, signed.
func TestTheControllerNotifiesOfConsolidation(t *testing.T) {
	if !inOwnProcess(t) {
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
	cluster := consolidate(t, io.Discard, "--notification-url-file="+dir+"/url", "--notification-secret-file="+dir+"/secret")
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
