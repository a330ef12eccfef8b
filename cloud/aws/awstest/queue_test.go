package awstest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/test/poll"
)

const queueURL = "https://sqs.us-east-1.amazonaws.com/123456789012/queue"

// receive receives messages as Karpenter does.
func receive(ctx context.Context, client *sqs.Client, change func(*sqs.ReceiveMessageInput)) ([]sqstypes.Message, error) {
	in := &sqs.ReceiveMessageInput{
		QueueUrl: aws.String(queueURL), MaxNumberOfMessages: 10, VisibilityTimeout: 20, WaitTimeSeconds: 20,
		MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{sqstypes.MessageSystemAttributeNameSentTimestamp},
		MessageAttributeNames:       []string{"All"},
	}
	if change != nil {
		change(in)
	}
	out, err := client.ReceiveMessage(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.Messages, nil
}

// texts are the texts of messages.
func texts(messages []sqstypes.Message) string {
	var out []string
	for _, m := range messages {
		out = append(out, aws.ToString(m.Body))
	}
	return strings.Join(out, " ")
}

func TestMessagesComeAgainUntilTheyAreDeleted(t *testing.T) {
	w := newWorld(t, "m5.large")
	client, ctx := sqs.NewFromConfig(w.config), t.Context()
	w.AddQueue("queue")
	if out, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("queue")}); err != nil || *out.QueueUrl != queueURL {
		t.Fatalf("%+v, %v", out, err)
	}
	get := func(want string) []sqstypes.Message {
		t.Helper()
		got, err := receive(ctx, client, nil)
		if err != nil || texts(got) != want {
			t.Fatalf("got %q, %v, want %q", texts(got), err, want)
		}
		return got
	}
	get("")
	for _, text := range []string{"one", "two"} {
		w.Send("queue", &text)
	}
	first := get("one two")
	if first[0].Attributes["SentTimestamp"] == "" {
		t.Error("no time")
	}
	get("")
	w.clock.Step(20 * time.Second)
	second := get("one two")
	drop := func(handles ...string) *sqs.DeleteMessageBatchOutput {
		t.Helper()
		in := &sqs.DeleteMessageBatchInput{QueueUrl: aws.String(queueURL)}
		for i, handle := range handles {
			in.Entries = append(in.Entries, sqstypes.DeleteMessageBatchRequestEntry{Id: aws.String(string(rune('a' + i))), ReceiptHandle: aws.String(handle)})
		}
		out, err := client.DeleteMessageBatch(ctx, in)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	// An outdated handle is accepted and has no effect; a handle that was never issued is rejected.
	if out := drop(*first[0].ReceiptHandle, *second[1].ReceiptHandle, "none"); len(out.Successful) != 2 || len(out.Failed) != 1 || *out.Failed[0].Id != "c" {
		t.Errorf("%+v", out)
	}
	w.Redeliver("queue")
	get("one")
	w.Repeat("queue")
	get("one")
	if got := w.Messages("queue"); !slices.Equal(got, []string{"one", "one"}) {
		t.Errorf("in the queue are %q", got)
	}
}

func TestQueuesRefuse(t *testing.T) {
	w := newWorld(t, "m5.large")
	client, ctx := sqs.NewFromConfig(w.config), t.Context()
	var missing *sqstypes.QueueDoesNotExist
	if _, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("queue")}); !errors.As(err, &missing) {
		t.Errorf("a queue that is not there: %v", err)
	}
	if _, err := receive(ctx, client, nil); !errors.As(err, &missing) {
		t.Errorf("messages of a queue that is not there: %v", err)
	}
	w.AddQueue("queue")
	for name, change := range map[string]func(*sqs.ReceiveMessageInput){
		"too many":           func(in *sqs.ReceiveMessageInput) { in.MaxNumberOfMessages = 11 },
		"waiting too long":   func(in *sqs.ReceiveMessageInput) { in.WaitTimeSeconds = 21 },
		"unknown attributes": func(in *sqs.ReceiveMessageInput) { in.MessageSystemAttributeNames[0] = "Colour" },
	} {
		if _, err := receive(ctx, client, change); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	for name, ids := range map[string][]string{"none": {}, "twice the same": {"a", "a"}, "a strange one": {"a b"}, "too many": strings.Split("abcdefghijk", "")} {
		in := &sqs.DeleteMessageBatchInput{QueueUrl: aws.String(queueURL), Entries: []sqstypes.DeleteMessageBatchRequestEntry{}}
		for _, id := range ids {
			in.Entries = append(in.Entries, sqstypes.DeleteMessageBatchRequestEntry{Id: aws.String(id), ReceiptHandle: aws.String("message-1-1")})
		}
		if _, err := client.DeleteMessageBatch(ctx, in); err == nil {
			t.Errorf("ids: %s: taken", name)
		}
	}
}

// TestACallWaitsForAMessage needs the real clock: a message that arrives late is received at once, not when the call times out.
func TestACallWaitsForAMessage(t *testing.T) {
	account := awstest.New(awstest.Options{Types: []string{"m5.large"}})
	client := sqs.NewFromConfig(awstest.Connect(t, account))
	account.AddQueue("queue")
	got := make(chan string)
	go func() {
		messages, _ := receive(t.Context(), client, nil)
		got <- texts(messages)
	}()
	poll.Until(t, "messages are requested", func() bool {
		select {
		case text := <-got:
			t.Fatalf("got %q", text)
		default:
		}
		return len(account.Calls("ReceiveMessage")) > 0
	})
	text := "late"
	account.Send("queue", &text)
	if text := <-got; text != "late" {
		t.Errorf("got %q", text)
	}
}

func TestASpotInstanceIsInterrupted(t *testing.T) {
	w := newWorld(t, "m5.large")
	w.template(t, "one")
	w.AddQueue("queue")
	out, err := w.fleet(t.Context(), "one", 1, nil, "m5.large")
	if err != nil {
		t.Fatal(err)
	}
	id := out.Instances[0].InstanceIds[0]
	if !w.Interrupt(id) || w.Interrupt("i-0") {
		t.Error("not interrupted, or one that is not there")
	}
	steps := []struct {
		after       time.Duration
		state, tell string
	}{{time.Minute, "running", `"EC2 Spot Instance Interruption Warning"`}, {time.Minute, "shutting-down", `"shutting-down"`}, {30 * time.Second, "terminated", `"terminated"`}}
	for _, step := range steps {
		w.clock.Step(step.after)
		if got := w.Instances()[0].State; got != step.state {
			t.Errorf("the instance is %s, want %s", got, step.state)
		}
		if all := strings.Join(w.Messages("queue"), "\n"); !strings.Contains(all, step.tell) || !strings.Contains(all, id) {
			t.Errorf("no message about %s: %s", step.tell, all)
		}
	}
}
