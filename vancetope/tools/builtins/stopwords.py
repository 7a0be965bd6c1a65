"""Words that say nothing about a text's subject, in eight languages."""

_ENGLISH = """
a about above across after again against all almost along already also although always
am among an and another any anyone anything are around as at away be became because
become been before behind being below between both but by came can cannot come could
did didn't do does doesn't doing don't done down during each either else enough etc even
ever every everyone everything example far few first for from further gave get gets
getting give given go goes going gone good got had has hasn't have haven't having he her
here hers herself him himself his how however i i'd i'll i'm i've if in indeed instead
into is isn't it it's its itself just keep kept know last later least less let let's like
likely lot made make makes making many may maybe me might mine more most much must my
myself near need needs never new next no nobody none nor not nothing now of off often on
once one only onto or other others our ours out over own per perhaps put quite rather
really said same saw say says see seem seems seen several shall she should since so some
someone something sometimes soon still such sure take taken than that that's the their
theirs them themselves then there these they they're thing things think this those though
three through thus to together too took toward two under until up upon us use used uses
using very want was way we well went were what when where whether which while who whole
whom whose why will with within without won't would year years yes yet you you'll you're
you've your yours yourself ask asked best better big find found great long people time times
way ways work works yet
"""
_GERMAN = """
ab aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim
bereits bin bis bist da dabei dadurch dafür daher damit dann daran darauf daraus darf das
dass davon dazu dein dem den denn der deren des dessen dich die dies diese diesem diesen
dieser dieses dir doch dort du durch ein eine einem einen einer eines einige er es etwa
etwas euch falls für gegen gerade gibt haben habe hat hatte hatten hier hin hinter ich ihm
ihn ihnen ihr ihre ihrem ihren ihrer im immer in ins ist ja jede jedem jeden jeder jedes
jedoch kann kein keine keinen können könnte man mehr mein mit muss müssen nach nicht nichts
noch nun nur ob oder ohne schon sehr sei sein seine seinem seinen seiner seit selbst sich
sie sind so sogar solche soll sollen sollte sondern sonst sowie über um und uns unser unter
vom von vor wann war waren warum was weil weiter welche welcher wenn wer werden wie wieder
will wir wird wo wobei wohl wurde wurden zu zum zur zwar zwei zwischen gilt heißt sei seien
"""
_FRENCH = """
ai ainsi alors après au aucun aussi autre autres aux avant avec avoir bien c'est car ce
cela celle celui ces cet cette ceux chaque chez comme comment d'un d'une dans de depuis
des deux dire donc dont du elle elles en encore entre est et étaient était être eu eux
fait faire fois font il ils j'ai je l'on la là le les leur leurs lors lui ma mais me même
mes moi moins mon ne ni non nos notre nous on ont ou où par parce pas peu peut plus pour
pourquoi qu'il qu'elle quand que quel quelle quelques qui quoi sa sans se sera ses si sien
son sont sous sur ta te tes toi ton tous tout toute toutes très trop tu un une va vers
voici vos votre vous y
"""
_SPANISH = """
al algo algunos ante antes aquel aquella así aún aunque bien cada casi como cómo con contra
cual cuando de del desde donde dos durante el él ella ellas ellos en entonces entre era eran
es esa esas ese eso esos está están estar este esta esto estos estas fue fueron ha había han
hace hacer hasta hay incluso la las le les lo los luego más me menos mi mis mismo mucho muy
nada ni no nos nosotros o otra otras otro otros para pero poco por porque puede pueden pues
que qué quien se sea según ser si sí sido siempre sin sino sobre son su sus también tan
tanto te tiene tienen todo toda todos todas tu un una uno unos vez y ya yo
"""
_MORE = """
che chi ci come con cui da dal dalla degli dei del della delle di e gli ha hanno ho il io
loro ma nel nella non per però più quale quando quella quello questa questo sia sono sua suo
sulla tra una
aan als bij dan dat deze die dit door een er geen haar heb heeft hem het hij hoe hun ik is
je kan maar meer met mijn naar niet nog of om ook op over te tot uit van veel voor waren
was wat we wel werd wij wordt ze zich zij zijn zo zou
ao aos às com da das do dos e ela ele em essa esse eu foi isso já mais mas meu muito na nas
não no nos num numa os ou pela pelo por quando quem são sem seu sua também tem um uma você
"""
_ARABIC = """
في من على إلى عن أن إن هذا هذه ذلك التي الذي هو هي كان كانت لم لن لا ما كل قد بعد قبل بين
مع أو ثم حتى كما لكن عند غير أي هناك نحن أنا أنت و
"""
_RUSSIAN = """
и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее
мне было вот от меня еще нет о из ему теперь когда даже ну ли если или быть был него до вас
уже для это этот эта эти они мы их чтобы при
"""  # noqa: RUF001 - it is Russian

# Folded as the words they are compared with.
STOPWORDS = frozenset(
    f"{_ENGLISH} {_GERMAN} {_FRENCH} {_SPANISH} {_MORE} {_ARABIC} {_RUSSIAN}".casefold().split()
)
# Han and Kana that join words rather than being part of them.
CJK_STOP = frozenset(
    "的了是在和有我他她它这這那不们們就也都与與及或而被把对對为為从從到上下中个個之其于於"
    "以可能会會要说說很还還但你您吗嗎呢吧一"
)
