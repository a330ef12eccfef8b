package restconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

const kubeconfigText = `{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":"https://%HOST%"}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{}}]}`

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, host string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Replace(kubeconfigText, "%HOST%", host, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	named, inEnv := write("named", "named"), write("env", "env")
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for _, tc := range []struct{ name, flag, env, host, problem string }{
		{"flag", named, "", "https://named", ""},
		{"flag beats environment", named, inEnv, "https://named", ""},
		{"environment", "", inEnv, "https://env", ""},
		{"flag names no file", filepath.Join(dir, "none"), inEnv, "", "--kubeconfig="},
		{"environment names no file", "", filepath.Join(dir, "none"), "", "name a kubeconfig with --kubeconfig or KUBECONFIG"},
		{"not a kubeconfig", broken, "", "", "--kubeconfig="},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", tc.env)
			config, err := Load(tc.flag, clientcmd.ConfigOverrides{})
			switch {
			case tc.problem == "" && (err != nil || config.Host != tc.host):
				t.Errorf("got %v, %v, want %s", config, err, tc.host)
			case tc.problem != "" && (err == nil || !strings.Contains(err.Error(), tc.problem)):
				t.Errorf("error lacks %q: %v", tc.problem, err)
			}
		})
	}
}
