// Package environment reads which cloud, subscription and location the provider for AKS works in. These are environment variables of other
// Azure tools, and not flags.
//
// Source: Azure provider specification, environment.
package environment

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"strings"

	_ "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm/runtime" // adds the resource manager to the clouds of the SDK
	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
)

// Names of clouds, as nodes and extensions know them.
const (
	PublicCloud       = "AzurePublicCloud"
	ChinaCloud        = "AzureChinaCloud"
	USGovernmentCloud = "AzureUSGovernmentCloud"
)

// Environment is where the provider works.
type Environment struct {
	SubscriptionID string
	// TenantID is the tenant of the cluster; empty if it is not set.
	TenantID string
	// Location is the location of the cluster, such as westus2.
	Location string
	// ResourceGroup is that of the managed cluster; empty if it is not set. Only some provision modes need it.
	ResourceGroup string
	// SystemNamespace is the namespace of the controller, where AKS says when nodes may get newer images; empty if it is not set.
	SystemNamespace string
	// Cloud is the name of the cloud: a constant of this package, or what the file of another cloud says.
	Cloud string
	// Configuration has the endpoints of the cloud.
	Configuration azcloud.Configuration
}

// Sources are where an environment is read from.
type Sources struct {
	// Getenv returns the value of an environment variable, or the empty text; os.Getenv is one.
	Getenv func(string) string
	// ReadFile reads a file; os.ReadFile is one.
	ReadFile func(string) ([]byte, error)
}

// Names of environment variables.
const (
	cloudVariable = "ARM_CLOUD"
	fileVariable  = "AZURE_ENVIRONMENT_FILEPATH"
)

// Read reads the environment. The error names everything that is missing or not valid.
func Read(from Sources) (Environment, error) {
	get := func(names ...string) string {
		for _, name := range names {
			if value := strings.TrimSpace(from.Getenv(name)); value != "" {
				return value
			}
		}
		return ""
	}
	out := Environment{
		SubscriptionID: get("AZURE_SUBSCRIPTION_ID", "ARM_SUBSCRIPTION_ID"), TenantID: get("AZURE_TENANT_ID", "ARM_TENANT_ID"),
		Location: get("LOCATION"), ResourceGroup: get("ARM_RESOURCE_GROUP"), SystemNamespace: get("SYSTEM_NAMESPACE"),
	}
	var errs []error
	if out.SubscriptionID == "" {
		errs = append(errs, errors.New("environment variable AZURE_SUBSCRIPTION_ID is not set, and neither is ARM_SUBSCRIPTION_ID: set one to the subscription of the cluster"))
	}
	if out.Location == "" {
		errs = append(errs, errors.New("environment variable LOCATION is not set: set it to the location of the cluster, such as westus2"))
	}
	var err error
	file, named := get(fileVariable), get(cloudVariable)
	switch {
	case file != "" && named != "":
		err = fmt.Errorf("environment variables %s and %s are both set: set only one", fileVariable, cloudVariable)
	case file != "":
		out.Cloud, out.Configuration, err = described(file, from.ReadFile)
	default:
		out.Cloud, out.Configuration, err = known(named)
	}
	return out, errors.Join(append(errs, err)...)
}

// known returns a cloud by one of its names; the public cloud if the name is empty.
func known(name string) (string, azcloud.Configuration, error) {
	switch strings.ToUpper(name) {
	case "", "AZUREPUBLICCLOUD", "AZURECLOUD":
		return PublicCloud, clone(azcloud.AzurePublic), nil
	case "AZURECHINACLOUD":
		return ChinaCloud, clone(azcloud.AzureChina), nil
	case "AZUREUSGOVERNMENT", "AZUREUSGOVERNMENTCLOUD":
		return USGovernmentCloud, clone(azcloud.AzureGovernment), nil
	default:
		return "", azcloud.Configuration{}, fmt.Errorf("environment variable %s=%q: allowed: %s, %s, %s; %s describes other clouds",
			cloudVariable, name, PublicCloud, ChinaCloud, USGovernmentCloud, fileVariable)
	}
}

// clone copies a cloud of the SDK, which is a variable.
func clone(c azcloud.Configuration) azcloud.Configuration {
	c.Services = maps.Clone(c.Services)
	return c
}

// described returns the cloud that a file describes.
func described(path string, read func(string) ([]byte, error)) (string, azcloud.Configuration, error) {
	refuse := func(format string, args ...any) (string, azcloud.Configuration, error) {
		return "", azcloud.Configuration{}, fmt.Errorf("environment variable %s=%q: %w", fileVariable, path, fmt.Errorf(format, args...))
	}
	if !filepath.IsAbs(path) {
		return refuse("must be an absolute path")
	}
	data, err := read(path)
	if err != nil {
		return refuse("reading the description of the cloud: %w", err)
	}
	var file struct {
		Name            string `json:"name"`
		ResourceManager string `json:"resourceManagerEndpoint"`
		ActiveDirectory string `json:"activeDirectoryEndpoint"`
		Audience        string `json:"tokenAudience"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return refuse("parsing the description of the cloud: %w", err)
	}
	var missing []string
	for _, field := range []struct{ name, value string }{
		{"resourceManagerEndpoint", file.ResourceManager}, {"activeDirectoryEndpoint", file.ActiveDirectory}, {"tokenAudience", file.Audience},
	} {
		if strings.TrimSpace(field.value) == "" {
			missing = append(missing, field.name)
		}
	}
	if len(missing) > 0 {
		return refuse("the description of the cloud has no %s", strings.Join(missing, ", "))
	}
	for _, endpoint := range []string{file.ResourceManager, file.ActiveDirectory} {
		if u, err := url.Parse(strings.TrimSpace(endpoint)); err != nil || !u.IsAbs() || u.Hostname() == "" {
			return refuse("the endpoint %q is not an absolute URL", endpoint)
		}
	}
	return strings.TrimSpace(file.Name), azcloud.Configuration{
		ActiveDirectoryAuthorityHost: strings.TrimSpace(file.ActiveDirectory),
		Services: map[azcloud.ServiceName]azcloud.ServiceConfiguration{
			azcloud.ResourceManager: {Endpoint: strings.TrimSpace(file.ResourceManager), Audience: strings.TrimSpace(file.Audience)},
		},
	}, nil
}

// ResourceManager returns the endpoint of the resource manager.
func (e Environment) ResourceManager() string {
	return e.Configuration.Services[azcloud.ResourceManager].Endpoint
}

// TokenScope returns the scope of access tokens for the resource manager. Where the audience ends with a slash, the scope has two: Microsoft
// Entra ID takes what precedes "/.default" for the audience.
func (e Environment) TokenScope() string {
	return e.Configuration.Services[azcloud.ResourceManager].Audience + "/.default"
}
