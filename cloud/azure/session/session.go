// Package session opens the access to Azure: the credential, the options of all calls, and the clients of Microsoft's SDK. It calls nothing
// but the source of tokens; callers declare interfaces of the few calls that they make.
//
// Source: Azure provider specification, calls, client behavior, credential, auxiliary token.
package session

import (
	"context"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud/azure/environment"
	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
)

const (
	// module names the clients of this project to the SDK.
	module = "karpenter/session"
	// moduleVersion says nothing: the version of the build is in the application ID, and the SDK fails for one that is not semantic, as that of
	// a development build.
	moduleVersion = "v0.0.0"
	// networkVersion is the API version of calls about networks. The SDK would use a newer one, which clouds other than the public one may
	// not have.
	networkVersion = "2022-01-01"
)

// Options say where and how Azure is called.
type Options struct {
	Environment environment.Environment
	Settings    *settings.Settings
	// Version is that of this build; it is in the user agent.
	Version string
	// Transport sends requests; nil means HTTPClient.
	Transport policy.Transporter
	// Clock is that of controllers, for the life of tokens.
	Clock clock.PassiveClock
}

// Session has the clients. They are safe for concurrent use and share connections.
type Session struct {
	// VirtualMachines also reads images in shared galleries of AKS, if the settings say so.
	VirtualMachines    *armcompute.VirtualMachinesClient
	Extensions         *armcompute.VirtualMachineExtensionsClient
	Usages             *armcompute.UsageClient
	CommunityImages    *armcompute.CommunityGalleryImageVersionsClient
	DiskEncryptionSets *armcompute.DiskEncryptionSetsClient
	SKUs               *armcompute.ResourceSKUsClient
	Interfaces         *armnetwork.InterfacesClient
	VirtualNetworks    *armnetwork.VirtualNetworksClient
	Subnets            *armnetwork.SubnetsClient
	LoadBalancers      *armnetwork.LoadBalancersClient
	SecurityGroups     *armnetwork.SecurityGroupsClient
	ResourceGraph      *armresourcegraph.Client
	// ResourceManager sends requests that the SDK has no client for: those about AKSMachines, agent pools and versions of node images.
	ResourceManager *arm.Client
	// Credential gets tokens for services that are not the resource manager.
	Credential azcore.TokenCredential
	// ClientOptions are the options of calls outside the resource manager, such as those to the price list.
	ClientOptions *policy.ClientOptions
}

// Open finds the credential, tries it, and returns the clients. It fails if there is no token within five seconds.
func Open(ctx context.Context, options Options) (*Session, error) {
	options = withTransport(options)
	credential, err := NewCredential(&options)
	if err != nil {
		return nil, err
	}
	if err := Check(ctx, credential, &options.Environment); err != nil {
		return nil, err
	}
	return New(credential, options)
}

// withTransport returns options that have a transport, which all clients share.
func withTransport(o Options) Options {
	if o.Transport == nil {
		o.Transport = HTTPClient()
	}
	return o
}

// New returns the clients for a credential, without a call.
func New(credential azcore.TokenCredential, options Options) (*Session, error) {
	options = withTransport(options)
	s := &Session{Credential: credential}
	for _, step := range []func(*Options, *arm.ClientOptions) error{s.openCompute, s.openVirtualMachines, s.openNetwork, s.openGeneral} {
		if err := step(&options, clientOptions(&options)); err != nil {
			return nil, fmt.Errorf("creating the clients of Azure: %w", err)
		}
	}
	s.ClientOptions = &clientOptions(&options).ClientOptions
	return s, nil
}

func (s *Session) openCompute(o *Options, options *arm.ClientOptions) error {
	factory, err := armcompute.NewClientFactory(o.Environment.SubscriptionID, s.Credential, options)
	if err != nil {
		return err
	}
	s.Extensions, s.Usages = factory.NewVirtualMachineExtensionsClient(), factory.NewUsageClient()
	s.CommunityImages, s.DiskEncryptionSets = factory.NewCommunityGalleryImageVersionsClient(), factory.NewDiskEncryptionSetsClient()
	s.SKUs = factory.NewResourceSKUsClient()
	return nil
}

// openVirtualMachines opens the one client whose requests have a token for the galleries.
func (s *Session) openVirtualMachines(o *Options, options *arm.ClientOptions) error {
	if o.Settings.UseSIG && !o.Settings.ProvisionMode.CreatesAKSMachines() {
		tokens, err := newGalleryTokens(o.Settings.SIGAccessTokenServerURL, o.Environment.TokenScope(), &options.ClientOptions, o.Clock)
		if err != nil {
			return err
		}
		// Once for a call, before its retries: these would repeat those of the request for the token.
		options.PerCallPolicies = append(options.PerCallPolicies, tokens)
	}
	var err error
	s.VirtualMachines, err = armcompute.NewVirtualMachinesClient(o.Environment.SubscriptionID, s.Credential, options)
	return err
}

func (s *Session) openNetwork(o *Options, options *arm.ClientOptions) error {
	options.APIVersion = networkVersion
	factory, err := armnetwork.NewClientFactory(o.Environment.SubscriptionID, s.Credential, options)
	if err != nil {
		return err
	}
	s.Interfaces, s.VirtualNetworks, s.Subnets = factory.NewInterfacesClient(), factory.NewVirtualNetworksClient(), factory.NewSubnetsClient()
	s.LoadBalancers, s.SecurityGroups = factory.NewLoadBalancersClient(), factory.NewSecurityGroupsClient()
	return nil
}

func (s *Session) openGeneral(_ *Options, options *arm.ClientOptions) error {
	var err error
	if s.ResourceGraph, err = armresourcegraph.NewClient(s.Credential, options); err != nil {
		return err
	}
	s.ResourceManager, err = arm.NewClient(module, moduleVersion, s.Credential, options)
	return err
}
