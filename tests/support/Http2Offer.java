import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Posts its second argument to the address in its first, as Java's client does by default: it offers HTTP/2. */
public class Http2Offer {
    public static void main(String[] arguments) throws Exception {
        HttpRequest.BodyPublisher body = HttpRequest.BodyPublishers.ofString(arguments[1]);
        if (arguments[2].equals("chunked")) {
            body = HttpRequest.BodyPublishers.fromPublisher(body);
        }
        HttpRequest request = HttpRequest.newBuilder(URI.create(arguments[0])).POST(body).build();
        HttpResponse<String> response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        System.out.print(response.statusCode() + " " + response.body());
    }
}
