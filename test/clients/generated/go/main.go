// Uploads a package, waits, decides and searches with a generated client: use FILE NAME.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"example.org/use/gatehouse"
)

func main() {
	path, name := os.Args[1], os.Args[2]
	ctx := context.Background()
	client, err := gatehouse.NewClientWithResponses(os.Getenv("GATEHOUSE_URL"),
		gatehouse.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", "Bearer "+os.Getenv("GATEHOUSE_TOKEN"))
			return nil
		}))
	check(err)

	uploaded := upload(ctx, client, path)
	if uploaded.JSON201 == nil {
		log.Fatalf("upload: %s %s", uploaded.Status(), uploaded.Body)
	}
	fmt.Println("upload:", uploaded.JSON201.Status)

	again := upload(ctx, client, path)
	if again.JSON409 == nil {
		log.Fatalf("second upload: %s %s", again.Status(), again.Body)
	}

	var total int
	for end := time.Now().Add(time.Minute); total == 0 && time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		queue, err := client.GetSecurityReviewQueueWithResponse(ctx, &gatehouse.GetSecurityReviewQueueParams{Q: &name})
		check(err)
		if queue.JSON200 == nil {
			log.Fatalf("queue: %s %s", queue.Status(), queue.Body)
		}
		total = queue.JSON200.Total
	}
	fmt.Println("queue:", total)

	approve := gatehouse.DecisionBodyDecisionApprove
	decided, err := client.PostSecurityPackagesNameVersionDecideWithResponse(ctx, name, uploaded.JSON201.Version,
		&gatehouse.PostSecurityPackagesNameVersionDecideParams{},
		gatehouse.DecisionBody{Decision: &approve, Justification: "built by ourselves"})
	check(err)
	if decided.JSON200 == nil {
		log.Fatalf("decision: %s %s", decided.Status(), decided.Body)
	}
	fmt.Println("decision:", decided.JSON200.NewStatus)

	found, err := client.GetArtifactsWithResponse(ctx, &gatehouse.GetArtifactsParams{Search: &name})
	check(err)
	if found.JSON200 == nil || len(found.JSON200.Items) == 0 {
		log.Fatalf("search: %s %s", found.Status(), found.Body)
	}
	item := found.JSON200.Items[0]
	served := "not served"
	if item.Served {
		served = "served"
	}
	fmt.Println("search:", item.Name, item.Version, item.Status, served)
}

func upload(ctx context.Context, client *gatehouse.ClientWithResponses, path string) *gatehouse.PostUploadResponse {
	file, err := os.ReadFile(path)
	check(err)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	check(form.WriteField("distribution", "jammy"))
	part, err := form.CreateFormFile("file", filepath.Base(path))
	check(err)
	_, err = io.Copy(part, bytes.NewReader(file))
	check(err)
	check(form.Close())
	answer, err := client.PostUploadWithBodyWithResponse(ctx, nil, form.FormDataContentType(), &body)
	check(err)
	return answer
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
