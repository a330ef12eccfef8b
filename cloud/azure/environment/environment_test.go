package environment_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/cloud/azure/environment"
	"github.com/karpenter-anew/karpenter/cloud/azure/retail"
)

const path = "/etc/cloud.json"

const description = `{"name": "OwnCloud", "resourceManagerEndpoint": "https://management.own.example/", "activeDirectoryEndpoint": "https://login.own.example/", "tokenAudience": "https://audience.own.example", "other": 1}`

// read reads an environment with the variables and one file.
func read(variables map[string]string, file string) (environment.Environment, error) {
	return environment.Read(environment.Sources{
		Getenv: func(name string) string { return variables[name] },
		ReadFile: func(name string) ([]byte, error) {
			if name != path {
				return nil, fs.ErrNotExist
			}
			return []byte(file), nil
		},
	})
}

// with is a complete environment with changes, in pairs.
func with(pairs ...string) map[string]string {
	out := map[string]string{"AZURE_SUBSCRIPTION_ID": "sub", "LOCATION": "westus2"}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

func TestVariables(t *testing.T) {
	t.Attr("covers", "Z048")
	type values struct{ Subscription, Tenant, Location, Group string }
	for _, test := range []struct {
		variables map[string]string
		want      values
		missing   []string
	}{
		{with(), values{"sub", "", "westus2", ""}, nil},
		{
			with("ARM_SUBSCRIPTION_ID", "other", "AZURE_TENANT_ID", "ten", "ARM_TENANT_ID", "other", "ARM_RESOURCE_GROUP", "rg"),
			values{"sub", "ten", "westus2", "rg"},
			nil,
		},
		{
			with("AZURE_SUBSCRIPTION_ID", "", "ARM_SUBSCRIPTION_ID", " other\n", "ARM_TENANT_ID", "\tten", "LOCATION", " eastus "),
			values{"other", "ten", "eastus", ""},
			nil,
		},
		{with("AZURE_SUBSCRIPTION_ID", " "), values{"", "", "westus2", ""}, []string{"AZURE_SUBSCRIPTION_ID", "ARM_SUBSCRIPTION_ID"}},
		{map[string]string{"ARM_CLOUD": "other"}, values{}, []string{"AZURE_SUBSCRIPTION_ID", "LOCATION", "ARM_CLOUD"}},
	} {
		e, err := read(test.variables, "")
		if diff := cmp.Diff(test.want, values{e.SubscriptionID, e.TenantID, e.Location, e.ResourceGroup}); diff != "" || (err != nil) != (test.missing != nil) {
			t.Errorf("%v: %v (-want +got)\n%s", test.variables, err, diff)
		}
		for _, name := range test.missing {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%v: the error does not name %s: %v", test.variables, name, err)
			}
		}
	}
}

func TestClouds(t *testing.T) {
	t.Attr("covers", "Z047 Z248")
	const public, china, government = "https://management.azure.com", "https://management.chinacloudapi.cn", "https://management.usgovcloudapi.net"
	for _, test := range []struct {
		variables              map[string]string
		name, manager, refused string
	}{
		{with(), "AzurePublicCloud", public, ""},
		{with("ARM_CLOUD", "AZUREPUBLICCLOUD"), "AzurePublicCloud", public, ""},
		{with("ARM_CLOUD", " AzureCloud "), "AzurePublicCloud", public, ""},
		{with("ARM_CLOUD", "AzureChinaCloud"), "AzureChinaCloud", china, ""},
		{with("ARM_CLOUD", "AzureUSGovernment"), "AzureUSGovernmentCloud", government, ""},
		{with("ARM_CLOUD", "azureusgovernmentcloud"), "AzureUSGovernmentCloud", government, ""},
		{with("ARM_CLOUD", "AzureGermanCloud"), "", "", "allowed: AzurePublicCloud, AzureChinaCloud, AzureUSGovernmentCloud"},
		{with("AZURE_ENVIRONMENT_FILEPATH", path), "OwnCloud", "https://management.own.example/", ""},
		{with("AZURE_ENVIRONMENT_FILEPATH", path, "ARM_CLOUD", "AzureCloud"), "", "", "both set"},
		{with("AZURE_ENVIRONMENT_FILEPATH", "etc/cloud.json"), "", "", "absolute path"},
		{with("AZURE_ENVIRONMENT_FILEPATH", "/etc/missing.json"), "", "", "reading the description"},
	} {
		e, err := read(test.variables, description)
		if test.refused != "" {
			if err == nil || !strings.Contains(err.Error(), test.refused) || e.Cloud != "" {
				t.Errorf("%v: %q, %v", test.variables, e.Cloud, err)
			}
			continue
		}
		if err != nil || e.Cloud != test.name || e.ResourceManager() != test.manager || e.Configuration.ActiveDirectoryAuthorityHost == "" {
			t.Errorf("%v: cloud %s at %s, %v", test.variables, e.Cloud, e.ResourceManager(), err)
		}
		if lists := retail.Lists(e.ResourceManager()); lists != (test.name == "AzurePublicCloud") {
			t.Errorf("%v: the price list has the prices: %v", test.variables, lists)
		}
		if scope := e.TokenScope(); test.name == "AzurePublicCloud" && scope != "https://management.core.windows.net//.default" || !strings.HasSuffix(scope, "/.default") {
			t.Errorf("%v: the scope is %s", test.variables, scope)
		}
	}
	if _, err := read(with("AZURE_ENVIRONMENT_FILEPATH", "/etc/missing.json"), ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cause of the error is lost: %v", err)
	}
}

func TestFiles(t *testing.T) {
	t.Attr("covers", "Z047")
	variables := with("AZURE_ENVIRONMENT_FILEPATH", path)
	got, err := read(variables, description)
	want := azcloud.Configuration{
		ActiveDirectoryAuthorityHost: "https://login.own.example/",
		Services: map[azcloud.ServiceName]azcloud.ServiceConfiguration{
			azcloud.ResourceManager: {Endpoint: "https://management.own.example/", Audience: "https://audience.own.example"},
		},
	}
	if diff := cmp.Diff(want, got.Configuration); err != nil || diff != "" || got.TokenScope() != "https://audience.own.example/.default" {
		t.Errorf("scope %s, %v (-want +got)\n%s", got.TokenScope(), err, diff)
	}
	for _, test := range []struct{ file, want string }{
		{"", "parsing"},
		{"[]", "parsing"},
		{"{}", "no resourceManagerEndpoint, activeDirectoryEndpoint, tokenAudience"},
		{strings.Replace(description, "resourceManagerEndpoint", "x", 1), "no resourceManagerEndpoint"},
		{strings.Replace(description, "https://login.own.example/", " ", 1), "no activeDirectoryEndpoint"},
		{strings.Replace(description, "tokenAudience", "x", 1), "no tokenAudience"},
		{strings.Replace(description, "https://management.own.example/", "management.own.example", 1), `"management.own.example" is not an absolute URL`},
		{strings.Replace(description, "https://login.own.example/", "/login", 1), `"/login" is not an absolute URL`},
	} {
		if _, err := read(variables, test.file); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", test.file, err)
		}
	}
}

// TestCloudsAreCopies: what a caller does with the endpoints concerns no other caller.
func TestCloudsAreCopies(t *testing.T) {
	first, err := read(with(), "")
	if err != nil {
		t.Fatal(err)
	}
	first.Configuration.Services[azcloud.ResourceManager] = azcloud.ServiceConfiguration{Endpoint: "https://changed"}
	if second, _ := read(with(), ""); second.ResourceManager() == "https://changed" {
		t.Error("the endpoints are shared")
	}
}
