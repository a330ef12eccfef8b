package environment_test

import (
	"net/url"
	"testing"

	"github.com/karpenter-anew/karpenter/cloud/azure/environment"
)

// FuzzFile checks that the description of a cloud is refused, or has endpoints that are absolute URLs with a host.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a","resourceManagerEndpoint":"https://management.example.com","activeDirectoryEndpoint":"https://login.example.com","tokenAudience":"https://management.example.com/"}`,
		`{"resourceManagerEndpoint":" https://a ","activeDirectoryEndpoint":"https://","tokenAudience":"x"}`, `{"resourceManagerEndpoint":"//a"}`, `null`, `[]`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		variables := map[string]string{"AZURE_SUBSCRIPTION_ID": "s", "LOCATION": "westus2", "AZURE_ENVIRONMENT_FILEPATH": "/file"}
		e, err := environment.Read(environment.Sources{
			Getenv: func(name string) string { return variables[name] }, ReadFile: func(string) ([]byte, error) { return data, nil },
		})
		if err != nil {
			return
		}
		for _, text := range []string{e.ResourceManager(), e.Configuration.ActiveDirectoryAuthorityHost} {
			if u, err := url.Parse(text); err != nil || u.Scheme == "" || u.Hostname() == "" {
				t.Errorf("%q is an endpoint", text)
			}
		}
		if e.TokenScope() == "/.default" {
			t.Error("there is no audience")
		}
	})
}
