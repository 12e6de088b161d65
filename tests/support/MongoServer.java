import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/** MongoDB's wire protocol over a store in memory, on a free port of the loopback address, until standard input ends. */
public final class MongoServer {
    public static void main(String[] arguments) throws Exception {
        // PyMongo refuses servers below wire version 9; no version that the library names says more than 8.
        MongoVersion recent = new MongoVersion() {
            @Override
            public List<Integer> getVersionArray() {
                return List.of(5, 0, 0);
            }

            @Override
            public int getWireVersion() {
                return 13;
            }
        };
        var server = new de.bwaldvogel.mongo.MongoServer(new MemoryBackend().version(recent));
        // It replaces a document in place, while another connection's thread may be sending it. With one thread no reader
        // meets half of a write, as none does in MongoDB.
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1, 1);
        System.out.println(server.getLocalAddress().getPort());
        while (System.in.read() >= 0) {
        }
        server.shutdownNow();
    }
}
