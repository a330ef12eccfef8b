package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// hostClocks are the files that read the clock of the host, and what for. All others have a clock that follows the API server: on a host
// whose time is wrong, an object compared with the time of the host is too old or too young.
var hostClocks = map[string]string{
	"internal/operator/processclock.go":       "the clock that follows the API server is built on it",
	"internal/operator/processclock_fault.go": "the same in tests of a wrong clock",
	"internal/operator/serverclock.go":        "monotonic time since the process started",
	"internal/operator/await.go":              "how long to wait for the API server, whose time is unknown until then",
	"internal/operator/fence.go":              "time since a renewal of the lease",
	"internal/operator/fence_provider.go":     "time since a renewal of the lease",
	"internal/operator/outage.go":             "duration of an outage, for a log line",
	"internal/operator/instrument.go":         "duration of a call, for a metric",
	"internal/operator/eventsink.go":          "rate of events",
	"internal/operator/drain.go":              "how long the end of the process is waited for",
	"internal/observe/transport.go":           "duration of a request, for a metric",
	"internal/observe/logger.go":              "time of a log line",
	"cloud/aws/session/measure.go":            "duration of a call, for a metric",
	"cloud/aws/batch/batch.go":                "time since a batch was opened",
	"cloud/aws/aws.go":                        "the default in tests, which open the provider without a controller",
	"internal/demo/manifest.go":               "how long a cluster that runs in real time is waited for",
	"internal/demo/progress.go":               "durations that are shown",
	"internal/demo/scene_reboot.go":           "when a reboot is requested, on the host that runs the cluster",
	"internal/demo/scene_repair.go":           "since when a node is not ready, on the host that runs the cluster",
	"internal/command/console/console.go":     "a page that people look at",
	"internal/command/top/top.go":             "a terminal that people look at",
	"internal/command/shadow/shadow.go":       "a cluster that runs in real time is followed",
	"embedded/controlplane/controlplane.go":   "the clock of the API server that it starts",
	"embedded/apiserver/front/watch.go":       "bookmarks of a watch over a connection",
	"cloud/kwok/kwok.go":                      "the default in simulations and tests",
}

// TestTheHostTellsNoTime finds files that read the clock of the host although it is not for what hostClocks says.
func TestTheHostTellsNoTime(t *testing.T) {
	reads := regexp.MustCompile(`\btime\.(Now|Since|Until)\b|\btime\.(NewTicker|NewTimer|Tick|After|AfterFunc|Sleep)\(|\bclock\.RealClock\b`)
	used := map[string]bool{}
	for _, folder := range []string{"internal", "cloud", "api", "embedded"} {
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, entry fs.DirEntry, err error) error {
			name := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
			forTests := strings.HasPrefix(name, "cloud/aws/awstest/") || strings.HasPrefix(name, "cloud/azure/azuretest/") ||
				strings.HasPrefix(name, "cloud/cloudtest/nodejoin/") ||
				strings.HasPrefix(name, "internal/controller/fakecluster/")
			if err != nil || entry.IsDir() || forTests || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || !reads.Match(text) {
				return err
			}
			used[name] = true
			if hostClocks[name] == "" {
				t.Errorf("%s reads the clock of the host: use the clock of controllers, or list the file in hostClocks with the reason", name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range hostClocks {
		if !used[name] {
			t.Errorf("hostClocks lists %s, which does not read the clock of the host", name)
		}
	}
}
